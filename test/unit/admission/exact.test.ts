import { describe, expect, it } from 'vitest';
import { exactEstimate } from '../../../src/admission/exact.js';
import { createEstimator } from '../../../src/estimate/estimator.js';
import { openaiChat, openaiCompletions } from '../../../src/wire/openai/openai.js';
import { policyOf } from '../../support/harness.js';

const estimator = createEstimator();
const EXACT = { matches: (model: string) => model.startsWith('gpt-'), maxBytes: 10_000, timeoutMs: 50 };

/** Estimates a body with a counter that says `counted`, and tells what it was asked. */
async function estimateOf(body: object, counted: number | null, exactCounting: typeof EXACT | null = EXACT, api = openaiChat) {
  const bytes = Buffer.from(JSON.stringify(body));
  const parsed = api.parseRequest(bytes);
  if (!parsed.ok) throw new Error(parsed.fault.message);
  const asked: string[] = [];
  const exactCounter = { count: async (text: string) => (asked.push(text), counted), close: async () => undefined };
  const before = estimator.prompt('t', parsed.facts);
  const after = await exactEstimate({ estimator, exactCounter }, { api, policy: policyOf([], { exactCounting }) }, bytes, parsed.facts, before);
  return { before, after, asked };
}

const CHAT = { model: 'gpt-4.1', messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Zzyzx qoph '.repeat(40) }] };

describe('exact counting of prompts', () => {
  it('takes the place of the estimate for the text, and leaves what is around it', async () => {
    const { before, after } = await estimateOf(CHAT, 1000);
    // Two messages and the beginning of the answer.
    expect(after.tokens).toBe(1000 + 2 * 4 + 3);
    expect(after.lowerBoundTokens).toBe(1000);
    expect(after.errorShare).toBeLessThan(before.errorShare);
  });

  it('is told the texts of system and messages, in words and not as they are escaped, without roles and tools', async () => {
    const tools = [{ type: 'function', function: { name: 'secret_tool', parameters: {} } }];
    const { asked } = await estimateOf({ ...CHAT, tools, messages: [{ role: 'system', content: 'Be "brief".' }, { role: 'user', content: 'grüß Gott' }] }, 5);
    expect(asked).toEqual(['Be "brief".\ngrüß Gott']);
  });

  it('is off unless configured, and for other models, longer bodies and token ids', async () => {
    for (const [body, asks] of [[CHAT, null], [{ ...CHAT, model: 'claude-x' }, EXACT], [CHAT, { ...EXACT, maxBytes: 100 }]] as const) {
      const { before, after, asked } = await estimateOf(body, 1000, asks);
      expect(after).toBe(before);
      expect(asked).toEqual([]);
    }
    const { asked } = await estimateOf({ model: 'gpt-3.5-turbo-instruct', prompt: [1, 2, 3] }, 1000, EXACT, openaiCompletions);
    expect(asked).toEqual([]);
  });

  it('leaves the estimate in force where it did not come in time', async () => {
    const { before, after } = await estimateOf(CHAT, null);
    expect(after).toBe(before);
  });
});
