import { describe, expect, it } from 'vitest';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { openaiChat } from '../../../src/wire/openai/openai.js';
import { DONE, event, feed, said, sseReader } from './feed.js';
import { cases, WHERE, type Case } from './handed.js';
import { countsOf } from './recorded.js';

function handed(id: string): Case {
  const found = cases?.get(id);
  if (found === undefined) throw new Error(`no case ${id}`);
  return found;
}

/** The usage of the case's chunks, cut as it says. */
function usageOf({ input }: Case) {
  const reader = sseReader();
  feed(reader, input.response_chunks ?? []);
  return reader.reading.usage;
}

/** The estimate for the case's request; what it says in words is put in by `fill`. */
function estimateOf({ input }: Case, fill: (text: string) => string = (text) => text): number {
  const parsed = openaiChat.parseRequest(Buffer.from(fill(JSON.stringify(input.request))));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return createEstimator().prompt('t', parsed.facts).tokens;
}

describe.skipIf(cases === null)(`faults that users reported: usage in streams${WHERE}`, () => {
  it('can1357/oh-my-pi#5022: usage told in two stages', () => {
    const { expected, ...rest } = handed('can1357/oh-my-pi#5022');
    expect(usageOf({ expected, ...rest })).toMatchObject({ inputTokens: expected['input_total'], cachedInputTokens: expected['cache_read'], outputTokens: expected['output_total'] });
  });

  it('Wei-Shaw/sub2api#5771: reasoning beside completion_tokens, and inside', () => {
    const found = handed('Wei-Shaw/sub2api#5771');
    expect(usageOf(found)).toMatchObject({ inputTokens: found.expected['input_total'], outputTokens: found.expected['output_total'], reasoningTokens: found.expected['reasoning'] });
    const reader = sseReader();
    feed(reader, [event({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 100, total_tokens: 112, completion_tokens_details: { reasoning_tokens: 100 } } })]);
    expect(reader.reading.usage?.outputTokens).toBe(found.expected['contrast_output']);
  });

  it('mnfst/llm-gateway#1567: the last event without a blank line', () => {
    const found = handed('mnfst/llm-gateway#1567');
    expect(usageOf(found)).toMatchObject({ inputTokens: found.expected['input_total'], outputTokens: found.expected['output_total'] });
  });

  it('microsoft/autogen#6465: empty choices, and a choice without delta', () => {
    const found = handed('microsoft/autogen#6465');
    const reader = sseReader();
    const outputAfter = (found.input.response_chunks ?? []).map((chunk) => {
      reader.push(Buffer.from(chunk));
      return reader.reading.sawOutput;
    });
    reader.end();
    expect(outputAfter.indexOf(true) + 1).toBe(found.expected['first_token_seen_at_chunk']);
    expect(reader.reading).toMatchObject({ sawError: false, unreadable: false, complete: true, usage: { inputTokens: found.expected['input_total'], outputTokens: found.expected['output_total'] } });
  });

  it('envoyproxy/ai-gateway#2162: an event cut at every byte, in a chat stream', () => {
    const { expected } = handed('envoyproxy/ai-gateway#2162');
    const usage = { prompt_tokens: expected['input_total'], completion_tokens: expected['output_total'], total_tokens: 28 };
    for (const lineEnd of ['\n', '\r\n']) {
      const stream = Buffer.from(event(said('日本😀'), lineEnd) + event({ choices: [], usage }, lineEnd) + DONE);
      for (let cut = 0; cut <= stream.length; cut++) {
        const reader = sseReader();
        feed(reader, [stream.subarray(0, cut), stream.subarray(cut)]);
        expect(reader.reading).toMatchObject({ usage: { inputTokens: 21, outputTokens: 7 }, complete: true, unreadable: false });
        expect(reader.reading.output).toEqual(countsOf('日本😀'));
      }
    }
  });
});

describe.skipIf(cases === null)(`faults that users reported: reading requests${WHERE}`, () => {
  it('ericc-ch/copilot-api#21: content null beside a tool call, and content as a list', () => {
    const found = handed('ericc-ch/copilot-api#21');
    expect(estimateOf(found)).toBeGreaterThanOrEqual(found.expected['input_estimate_min']!);
  });

  it('BerriAI/litellm#28071: unknown content blocks', () => {
    const found = handed('BerriAI/litellm#28071');
    expect(estimateOf(found)).toBeGreaterThanOrEqual(found.expected['input_estimate_min']!);
  });

  it('FoundationAgents/MetaGPT#1961: every text part of a message counts', () => {
    const found = handed('FoundationAgents/MetaGPT#1961');
    const estimate = estimateOf(found, (text) => text.replace('<4000 words>', 'word '.repeat(4000)));
    expect(estimate).toBeGreaterThanOrEqual(found.expected['input_estimate_min']!);
    expect(estimate).toBeLessThan(8000);
  });

  it('BerriAI/litellm#32865: a picture in base64 is not text (here in a chat body)', () => {
    const { expected } = handed('BerriAI/litellm#32865');
    const content = [{ type: 'text', text: 'what is this' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(2_500_000)}` } }];
    const estimate = estimateOf({ id: '', expected, input: { request: { model: 'm', messages: [{ role: 'user', content }] } } });
    expect(estimate).toBeLessThanOrEqual(expected['input_estimate_max']!);
    expect(estimate).toBeGreaterThanOrEqual(expected['input_estimate_min']!);
  });

  it('QuantumNous/new-api#7148: a picture inside a tool result is not text, nor are sounds and documents', () => {
    const { expected, ...found } = handed('QuantumNous/new-api#7148');
    const data = 'A'.repeat(400_000);
    const limit = expected['input_estimate_max']!;
    expect(estimateOf({ expected, ...found }, (text) => text.replace('<400 kB of A>', data))).toBeLessThanOrEqual(limit);
    for (const block of [
      { inlineData: { mimeType: 'image/png', data } },
      { image: { format: 'png', source: { bytes: data } } },
      { type: 'input_audio', input_audio: { data, format: 'wav' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } },
      { type: 'file', file: { file_data: data, filename: 'a.pdf' } },
    ]) {
      expect(estimateOf({ id: '', expected, input: { request: { model: 'm', messages: [{ role: 'user', content: [block] }] } } })).toBeLessThanOrEqual(limit);
    }
  });
});
