import { afterEach, describe, expect, test } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { JSON_HEADERS, chat } from '../support/clients.js';
import { startServing } from '../support/serving.js';
import { startStack, type Stack, type StackOptions } from '../support/stack.js';

const YAML = `tenants: [{ id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 900000000 } }]`;
/** Envoy looks for unused gRPC clients every five seconds, and by default drops one after fifty. */
const LONGER_THAN_ENVOY_KEEPS_MS = 60_000;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of open.splice(0).reverse()) await stop();
});

async function start(answerMs: number, options: StackOptions): Promise<Stack> {
  const serving = await startServing(YAML);
  open.push(() => serving.stop());
  let first = true;
  const script = (): { kind: 'generate'; firstByteMs: number } => {
    const firstByteMs = first ? answerMs : 0;
    first = false;
    return { kind: 'generate', firstByteMs };
  };
  const stack = await startStack({ ...options, processorPort: serving.port, upstream: { script } });
  open.push(() => stack.stop());
  return stack;
}

/** Status of a request that nothing accompanies, and of one after it; null where Envoy is gone. */
async function twoAnswers({ url }: Stack): Promise<(number | null)[]> {
  const ask = (): Promise<number | null> =>
    fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: JSON_HEADERS('key-acme'), body: chat() }).then(
      async (answer) => {
        await answer.text();
        return answer.status;
      },
      () => null,
    );
  const first = await ask();
  // A crash at the end of the answer takes a moment.
  await new Promise((resume) => setTimeout(resume, 300));
  return [first, await ask()];
}

describe('trap 20: Envoy drops its gRPC client while an answer still uses it', () => {
  test('an answer of a minute on a quiet Envoy does not end it, in either body mode', async () => {
    const stacks = await Promise.all(['envoy.yaml', 'envoy.duplex.yaml'].map((envoyConfig) => start(LONGER_THAN_ENVOY_KEEPS_MS, { envoyConfig })));
    expect(await Promise.all(stacks.map(twoAnswers))).toEqual([[200, 200], [200, 200]]);
  });
});
