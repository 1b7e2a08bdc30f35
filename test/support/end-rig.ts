import type { LedgerEvent } from '../../src/domain/lease.js';
import type { EndReason } from '../../src/domain/pool.js';
import type { RecordedRequest } from '../../src/upstream/record.js';
import type { ScriptedAnswer } from '../../src/upstream/script.js';
import { endingPools } from './ending-pool.js';
import { startRig, type Rig, type RigOptions } from './rig.js';
import { tenant } from './sdk-rig.js';
import { until } from './serving.js';

const YAML = `tenants:\n${tenant('wide', '{ tokensPerMinute: 6000000 }')}pools:\n  - { id: house, kind: self-hosted, models: ["*"], capacity: { slots: 100 } }\n`;

export interface EndRig {
  readonly rig: Rig;
  /** What the upstream answers from now on. */
  answerWith(answer: ScriptedAnswer): void;
  /** Tells the processor, as the pool's store does, that the latest request is to be ended. */
  endLatest(why?: EndReason): void;
  /** How the latest request is in the books, and at the upstream, once it is over. */
  over(): Promise<{ readonly event: LedgerEvent; readonly upstream: RecordedRequest; readonly upstreamEndedMs: number; readonly line: Record<string, unknown> }>;
  stop(): Promise<void>;
}

/** The whole program with a real Envoy, and a pool store that ends what the test says. */
export async function startEndRig(options: RigOptions): Promise<EndRig> {
  let answer: ScriptedAnswer | null = null;
  let endedAtMs = 0;
  const ending = endingPools();
  const rig = await startRig(YAML, { ...options, upstream: { script: () => answer } }, undefined, undefined, ending.pools);
  return {
    rig,
    answerWith: (next) => { answer = next; },
    endLatest: (why) => {
      endedAtMs = performance.now();
      ending.endLatest(why);
    },
    over: async () => {
      const upstream = rig.stack.upstream.requests.at(-1)!;
      await upstream.ended;
      const upstreamEndedMs = performance.now() - endedAtMs;
      const event = (await rig.settled()).find(({ leaseId }) => leaseId === ending.latest)!;
      const isLine = ({ msg, requestId }: Record<string, unknown>): boolean => msg === 'request' && requestId === ending.latest;
      await until(() => rig.processor.log.some(isLine), 'the log line');
      return { event, upstream, upstreamEndedMs, line: rig.processor.log.find(isLine)! };
    },
    stop: () => rig.stop(),
  };
}

/** A stream that begins with these bytes, and goes on with those of `more` every 20 ms for as long as somebody listens. */
export function endless(first: Buffer, more: Buffer, contentType = 'text/event-stream'): ScriptedAnswer {
  function* pieces(): Generator<Buffer | { pauseMs: number }> {
    yield first;
    for (let i = 0; i < 1_000; i++) {
      yield { pauseMs: 20 };
      yield more;
    }
  }
  return { kind: 'answer', headers: { 'content-type': contentType }, pieces: pieces() };
}
