import { expect, it } from 'vitest';
import { Exchange } from '../../../src/admission/exchange.js';
import { harness, limit, policyOf, settled, tenant } from '../../support/harness.js';
import { namedEvents } from '../wire/recorded.js';

it('output beyond the reservation is charged while it runs, also where the input was told at the start', async () => {
  const h = harness(policyOf([tenant('a', [limit('outputTokens', 1000)])], { unknownOutputTokens: 10 }));
  const headers = new Map([['authorization', 'Bearer key-a']]);
  const exchange = new Exchange(h.admission, { method: 'POST', path: '/v1/messages', endOfStream: false, stage: 'front', externalId: null, metadata: () => undefined, headers });
  exchange.begin();
  await exchange.decide(Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }], stream: true })));
  exchange.respond({ status: 200, headers: new Map([['content-type', 'text/event-stream']]), endOfStream: false, fromUpstream: true }, true);
  exchange.push(Buffer.from(namedEvents({ type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } })));
  for (let i = 0; i < 100; i++) exchange.push(Buffer.from(namedEvents({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' another word' } })));
  h.clock.advance(250);
  await settled();
  const spec = { key: 'a/*:outputTokens', tenantId: 'a', dimension: 'outputTokens' as const, limit: 1000, capacity: 1000, countCachedInput: true };
  expect((await h.store.snapshot([spec], 1_000_000)).levels[0]!.remaining).toBeLessThan(900);
  exchange.finish();
  await settled();
  // It ended before its end was told: the input is the upstream's, the output is counted.
  const { usage } = h.witness.records[0]!;
  expect(usage?.inputTokens).toBe(9);
  expect(usage?.outputTokens).toBeGreaterThan(100);
});
