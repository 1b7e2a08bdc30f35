import { expect } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import type { LedgerEvent } from '../../src/domain/lease.js';
import { HeldClock } from './held-clock.js';
import { startRig, type Rig, type RigOptions } from './rig.js';
import { until } from './serving.js';
import { scriptedUpstream, type Special } from './scripted-upstream.js';

export interface SdkRig extends Rig {
  readonly clock: HeldClock;
  /** What a call returned, and the one request that it caused, as the ledger has it. */
  booked<T>(call: () => PromiseLike<T>): Promise<{ readonly value: T; readonly event: LedgerEvent }>;
  /** What a call returned that was to pass uncharged, and by how much each label of the metric of such requests grew. */
  unmetered<T>(call: () => PromiseLike<T>): Promise<{ readonly value: T; readonly counted: Record<string, number> }>;
  /** What a call returned that was refused first and came again by itself, once there was room: how often it was refused. */
  retried<T>(call: () => PromiseLike<T>): Promise<{ readonly value: T; readonly refusals: number }>;
  /** Makes a call that must be refused without a word to the upstream; returns what it was rejected with. */
  refused(call: () => PromiseLike<unknown>): Promise<unknown>;
}

/** A line of the list of tenants; its key is `key-` and its id. */
export const tenant = (id: string, limits: string): string => `  - { id: ${id}, keys: ["${hashKey(`key-${id}`)}"], limits: ${limits} }\n`;

/** `wide` is never refused, `tight` may ask once a minute, `brisk` once a second, `tiny` can never have more than ten tokens. */
const SDK_TENANTS = `tenants:\n${tenant('wide', '{ tokensPerMinute: 6000000 }')}${tenant('tight', '{ requestsPerMinute: 1 }')}${tenant('brisk', '{ requestsPerMinute: 60, burstSeconds: 1 }')}${tenant('tiny', '{ tokensPerMinute: 10 }')}`;

export interface SdkRigOptions extends Pick<RigOptions, 'edit' | 'upstreamPort'> {
  readonly envoyConfig?: string;
  /** Put before the tenants. */
  readonly more?: string;
  /** Further lines of the list of tenants. */
  readonly tenants?: string;
  readonly special?: Special;
}

/** The whole program with a real Envoy and a scripted upstream, on a clock that stands still. */
export async function startSdkRig({ envoyConfig = 'envoy.yaml', more = '', tenants = '', special, edit, upstreamPort }: SdkRigOptions = {}): Promise<SdkRig> {
  const clock = new HeldClock();
  const rig = await startRig(`${more}${SDK_TENANTS}${tenants}`, { envoyConfig, edit, upstreamPort, upstream: { script: scriptedUpstream(special) } }, undefined, clock);
  const ids = async () => new Set((await rig.settled()).map(({ leaseId }) => leaseId));
  /** Nothing of the processor's own went wrong meanwhile. */
  async function sound<T>(call: () => PromiseLike<T>): Promise<T> {
    const before = rig.processor.log.length;
    try {
      return await call();
    } finally {
      await rig.processor.idle();
      expect(rig.processor.log.slice(before).filter(({ msg }) => msg === 'fault')).toEqual([]);
    }
  }
  return {
    ...rig, clock,
    booked: async (call) => {
      const before = await ids();
      const value = await sound(call);
      const events = (await rig.settled()).filter(({ leaseId }) => !before.has(leaseId));
      expect(events).toHaveLength(1);
      return { value, event: events[0]! };
    },
    unmetered: async (call) => {
      const [before, counts] = [await ids(), countsOf(await rig.metrics())];
      const value = await sound(call);
      expect(await ids()).toEqual(before);
      const after = countsOf(await rig.metrics());
      const grown = [...after].map(([label, count]) => [label, count - (counts.get(label) ?? 0)] as const).filter(([, by]) => by !== 0);
      return { value, counted: Object.fromEntries(grown) };
    },
    retried: async (call) => {
      const refusals = () => rig.processor.log.filter(({ msg, decision }) => msg === 'request' && decision === 'refused').length;
      const before = refusals();
      const coming = call();
      await until(() => refusals() > before, 'a refusal');
      clock.advance(60_000);
      const value = await coming;
      return { value, refusals: refusals() - before };
    },
    refused: async (call) => {
      const [before, seen] = [await ids(), rig.stack.upstream.requests.length];
      const error = await Promise.resolve(call()).then(() => expect.fail('the call was expected to be refused'), (reason: unknown) => reason);
      expect(await ids()).toEqual(before);
      expect(rig.stack.upstream.requests).toHaveLength(seen);
      return error;
    },
  };
}

/** The counter of unmetered requests, by its label. */
function countsOf(metrics: string): Map<string, number> {
  const lines = metrics.matchAll(/^tokenweir_unmetered_requests_total\{\w+="([^"]*)"\} (\d+)$/gm);
  return new Map([...lines].map(([, label = '', count]) => [label, Number(count)]));
}
