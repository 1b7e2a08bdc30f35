import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Usage } from '../../src/domain/usage.js';
import type { ResponseReading, WireApi } from '../../src/domain/wire.js';
import { anthropicMessages } from '../../src/wire/anthropic/messages.js';
import { openaiChat, openaiCompletions, openaiEmbeddings, openaiResponses } from '../../src/wire/openai/openai.js';

const APIS: readonly WireApi[] = [anthropicMessages, openaiChat, openaiCompletions, openaiResponses, openaiEmbeddings];

/** Names that the APIs look at, so that what is made of them goes deep into the parsers; and names that objects have of themselves. */
const NAMES = [
  ...['model', 'messages', 'input', 'prompt', 'content', 'role', 'type', 'text', 'tools', 'name', 'id', 'stream', 'stream_options', 'include_usage', 'max_tokens', 'n', 'best_of'],
  ...['max_output_tokens', 'system', 'instructions', 'metadata', 'session_id', 'thread', 'container', 'conversation', 'file_id', 'source', 'data', 'result', 'output', 'n_predict'],
  ...['usage', 'message', 'delta', 'content_block', 'response', 'item', 'output_index', 'input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
  ...['cache_creation', 'ephemeral_1h_input_tokens', 'iterations', 'prompt_tokens', 'completion_tokens', 'total_tokens', 'prompt_tokens_details', 'cached_tokens', 'choices', 'error'],
  ...['output_tokens_details', 'reasoning_tokens', 'thinking_tokens', 'arguments', 'summary', 'partial_json', 'thinking', '__proto__', 'constructor', 'toString'],
];
const TYPES = ['text', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result', 'image', 'message', 'error', 'message_start', 'message_delta', 'message_stop', 'content_block_start', 'content_block_delta'].concat(
  ['response.completed', 'response.created', 'response.failed', 'response.output_text.delta', 'response.output_item.done', 'item_reference', 'image_generation_call', 'input_image', 'function_call'],
);

const leaf = fc.oneof(fc.constantFrom<unknown>(null, true, false, -1, 0, 1, 5, 7.5, 2 ** 31, 1e300), fc.nat({ max: 100_000 }), fc.string({ maxLength: 12 }), fc.constantFrom(...TYPES, 'm', 'user', 'system', 'data:image/png;base64,AAAA'));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 6, withCrossShrink: true }, leaf, fc.array(tie('value'), { maxLength: 4 }), fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 7 })),
}));
const object = fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 12 });
const part = fc.tuple(fc.constantFrom(undefined, ...TYPES), object).map(([type, rest]) => (type === undefined ? rest : { ...rest, type }));

function expectSound(usage: Usage | null): void {
  if (usage === null) return;
  for (const count of Object.values(usage)) expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
  expect(usage.cachedInputTokens + usage.cacheWriteTokens).toBeLessThanOrEqual(usage.inputTokens);
  expect(usage.cacheWrite1hTokens).toBeLessThanOrEqual(usage.cacheWriteTokens);
  expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.outputTokens);
}

function read(api: WireApi, parts: readonly object[]): ResponseReading {
  const reader = api.responseReader({ framing: 'sse', hideUsage: false });
  for (const one of parts) reader.push(Buffer.from(`data: ${JSON.stringify(one)}\n\n`));
  reader.end();
  return reader.reading;
}

describe.each(APIS.map((api) => [api.api, api] as const))('%s, whatever comes', (_, api) => {
  it('reads a request or names what is wrong with it', () => {
    fc.assert(
      fc.property(object, fc.boolean(), (body, named) => {
        const parsed = api.parseRequest(Buffer.from(JSON.stringify(named ? { model: 'm', messages: [], prompt: '', ...body } : body)));
        if (!parsed.ok) {
          expect(parsed.fault.message).toMatch(/^The .*\.$/);
          return;
        }
        const { facts } = parsed;
        expect(facts.choices).toBeGreaterThanOrEqual(1);
        expect(facts.outputCapTokens ?? 0).toBeGreaterThanOrEqual(0);
        for (const counts of [facts.prompt.system, facts.prompt.text, facts.prompt.toolText, facts.prompt.schema]) expect(counts.every((count) => count >= 0 && Number.isFinite(count))).toBe(true);
        for (const { id } of facts.prompt.references) expect(id.length).toBeLessThanOrEqual(256);
      }),
      { numRuns: 200 },
    );
  });

  it('tells sound figures of an answer, and no others when it comes again with nothing new', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const once = read(api, parts);
        expectSound(once.usage);
        expect(once.output.every((count) => count >= 0)).toBe(true);
        for (const line of once.lines ?? []) expect(line.tokens).toBeGreaterThan(0);
        const nothingNew = { usage: null, type: 'ping' };
        expect(read(api, [...parts, nothingNew, nothingNew]).usage).toEqual(once.usage);
      }),
      { numRuns: 200 },
    );
  });
});
