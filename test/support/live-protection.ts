import { loadavg } from 'node:os';
import { LoadClient } from './clients.js';
import { LEDGER_FILE, startFleet, type Fleet } from './fleet.js';
import { accountsOf, type Account } from './fleet-load.js';
import { play, poissonArrivals, type LiveRequest } from './live-load.js';
import { tenantsYaml } from './pool-rig.js';
import { until } from './serving.js';

/** Every request takes 0.85 s on its slot, however many run: the first token at once, the others 85 ms apart. */
export const SERVICE_MS = 850;
const TOKEN_MS = 85;
const OUTPUT_TOKENS = 1 + SERVICE_MS / TOKEN_MS;
export const SLOTS = 16;
const DEMAND = 1.38;
/** Of the beginning, while the slots fill. */
const WARM_MS = 2_000;
/** Between the end that a client sees and the end that the pool sees on a busy machine. */
const SETTLED_WITHIN_MS = 100;

export interface Setup {
  readonly name: string;
  /** Of the supply, wanted by the guaranteed tenant. */
  readonly share: number;
  /** What is assured to it: so many times what it wants on average. Null: there is no pool, and all is admitted. */
  readonly baseline: 1 | 2 | null;
  /** Whether spot streams may be ended. */
  readonly preemptible: boolean;
  readonly envoyConfig: 'envoy.yaml' | 'envoy.duplex.yaml';
  readonly durationMs: number;
  readonly seed: number;
}

/** What one run came to. */
export interface Run {
  readonly setup: Setup;
  readonly guaranteed: readonly LiveRequest[];
  readonly spot: readonly LiveRequest[];
  /** Client, ledger and upstream side by side. */
  readonly accounts: readonly Account[];
  /** Spot refused although less than all slots were taken since a while. */
  readonly refusedWhileFree: number;
  /** Of what guaranteed left, by completions. */
  readonly spotPart: number;
  /** The same by the time that slots were taken, as clients see it: a busy machine takes them for longer than the service. */
  readonly spotTime: number;
  /** The most requests that were at the upstream at one time. */
  readonly mostAtOnce: number;
  /** What the pool says when all is over; null without one. */
  readonly poolAfter: { readonly waiting: number; readonly inFlight: number; readonly slots: number } | null;
  readonly leasesAfter: number;
  /** The filter waited for the processor for longer than it does. */
  readonly messageTimeouts: number;
  readonly faults: readonly unknown[];
  /** Of this machine, over the run. */
  readonly load: number;
}

function yamlOf({ share, baseline, preemptible }: Setup): string {
  const head = `${LEDGER_FILE}\n${tenantsYaml('guaranteed', 'spot')}`;
  if (baseline === null) return head;
  return `${head}
pools: [{ id: chat, kind: self-hosted, models: ["*"], capacity: { slots: ${SLOTS} } }]
entitlements:
  - { tenant: guaranteed, pool: chat, class: guaranteed, baseline: { slots: ${Math.min(SLOTS, Math.floor(baseline * share * SLOTS))} } }
  - { tenant: spot, pool: chat, class: spot, preemptible: ${preemptible} }
`;
}

/** Experiment 1 in real time: a processor of its own, a real Envoy, and a simulated upstream. */
export async function runLive(setup: Setup): Promise<Run> {
  const timing = { interTokenMs: TOKEN_MS, interTokenMsPerSequence: 0, prefillTokensPerSecond: 1e9, slots: SLOTS, maxQueued: 10_000 };
  const fleet = await startFleet({ processors: 1, yaml: yamlOf(setup), envoyConfig: setup.envoyConfig, upstream: { timing } });
  const client = new LoadClient(fleet.stack.url, Infinity);
  try {
    const { share, durationMs, seed } = setup;
    const perSecond = (part: number): number => (part * SLOTS * 1000) / SERVICE_MS;
    const beganMs = Date.now();
    const requests = await play(client, poissonArrivals({ guaranteed: perSecond(share), spot: perSecond(DEMAND - share) }, durationMs, seed), OUTPUT_TOKENS);
    return await lookAt(setup, fleet, requests, beganMs);
  } finally {
    client.close();
    await fleet.stop();
  }
}

async function lookAt(setup: Setup, fleet: Fleet, requests: readonly LiveRequest[], beganMs: number): Promise<Run> {
  const [load] = loadavg() as [number, number, number];
  await until(async () => (await fleet.status(0)).leases === 0, 'no leases');
  const { leases, pools } = await fleet.status(0);
  const pool = pools['chat'];
  const [guaranteed, spot] = ['guaranteed', 'spot'].map((id) => requests.filter(({ tenant }) => tenant === id)) as [LiveRequest[], LiveRequest[]];
  return {
    setup, guaranteed, spot, load,
    accounts: await accountsOf(fleet, 0, requests),
    refusedWhileFree: spot.filter((request) => request.outcome === 'refused' && mostBeside(requests, request) < SLOTS).length,
    spotPart: spotPart(guaranteed, spot, beganMs + WARM_MS, beganMs + setup.durationMs),
    spotTime: spotTime(guaranteed, spot, beganMs + WARM_MS, beganMs + setup.durationMs),
    mostAtOnce: fleet.stack.upstream.load.mostAtOnce,
    poolAfter: pool === undefined ? null : { waiting: pool.waiting, inFlight: pool.inFlight, slots: pool.inUse.slots },
    leasesAfter: leases,
    messageTimeouts: await fleet.stack.envoy.stats('http.clients.ext_proc.tokenweir.message_timeouts'),
    faults: (await fleet.processors[0]!.log()).filter(({ msg }) => msg === 'fault'),
  };
}

/** At most so many of the others ran or waited while this one was asked. */
function mostBeside(requests: readonly LiveRequest[], { startedAtMs, endedAtMs }: LiveRequest): number {
  return requests.filter((other) => other.outcome !== 'refused' && other.startedAtMs <= endedAtMs && other.endedAtMs + SETTLED_WITHIN_MS >= startedAtMs).length;
}

/** Completions of a time: each is 0.85 s of a slot. */
function spotPart(guaranteed: readonly LiveRequest[], spot: readonly LiveRequest[], fromMs: number, toMs: number): number {
  const done = (requests: readonly LiveRequest[]): number => requests.filter(({ outcome, endedAtMs }) => outcome === 'done' && endedAtMs >= fromMs && endedAtMs < toMs).length;
  return done(spot) / ((SLOTS * (toMs - fromMs)) / SERVICE_MS - done(guaranteed));
}

/** From dispatch to end, as far as that is within a time. */
function spotTime(guaranteed: readonly LiveRequest[], spot: readonly LiveRequest[], fromMs: number, toMs: number): number {
  const within = ({ startedAtMs, waitedMs, endedAtMs }: LiveRequest): number => Math.max(0, Math.min(endedAtMs, toMs) - Math.max(startedAtMs + (waitedMs || 0), fromMs));
  const taken = (requests: readonly LiveRequest[]): number => requests.filter(({ outcome }) => outcome === 'done').reduce((sum, request) => sum + within(request), 0);
  return taken(spot) / (SLOTS * (toMs - fromMs) - taken(guaranteed));
}
