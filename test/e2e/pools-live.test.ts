import { afterAll, describe, expect, it } from 'vitest';
import { textTable } from '../../src/sim/table.js';
import { runLive, SLOTS, type Run, type Setup } from '../support/live-protection.js';
import { liveTable, writeLive } from '../support/live-report.js';

/** `npm run experiments:live` takes 60 s a run, prints the figures and writes them into docs/experiments.md. */
const FULL_SECONDS = Number(process.env['LIVE_SECONDS'] ?? 0);
const durationMs = FULL_SECONDS > 0 ? FULL_SECONDS * 1000 : 10_000;
const WITHIN_MS = durationMs * 2 + 60_000;

const common = { durationMs, seed: 1, preemptible: false, baseline: 1, envoyConfig: 'envoy.yaml' } as const;
const PLAIN: readonly Setup[] = [
  { ...common, name: 'wants ⅓', share: 1 / 3 },
  { ...common, name: 'wants ½', share: 1 / 2, envoyConfig: 'envoy.duplex.yaml' },
];
const ended = { ...common, baseline: 2, preemptible: true } as const;
const ENDED: readonly Setup[] = [
  { ...ended, name: 'wants ⅓, spot ended (STREAMED)', share: 1 / 3 },
  { ...ended, name: 'wants ½, spot ended (FULL_DUPLEX)', share: 1 / 2, envoyConfig: 'envoy.duplex.yaml' },
];

const runs: Run[] = [];
async function live(setup: Setup): Promise<Run> {
  const run = await runLive(setup);
  runs.push(run);
  return run;
}

afterAll(async () => {
  if (FULL_SECONDS === 0) return;
  const table = liveTable(runs);
  process.stdout.write(`\n${textTable(table.head, table.rows)}\n`);
  await writeLive(table, FULL_SECONDS);
});

/** What holds on any machine: nothing here is about how long something takes. */
function expectAlways({ guaranteed, spot, accounts, refusedWhileFree, poolAfter, leasesAfter, messageTimeouts, faults }: Run): void {
  expect(messageTimeouts).toBe(0);
  expect(faults).toEqual([]);
  expect(guaranteed.filter(({ outcome }) => outcome !== 'done')).toEqual([]);
  const refused = spot.filter(({ outcome }) => outcome === 'refused');
  expect(refused.length).toBeGreaterThan(0);
  expect(spot.filter(({ waitedMs, outcome }) => (waitedMs !== 0 && outcome !== 'ended') || outcome === 'failed')).toEqual([]);
  expect(refusedWhileFree).toBe(0);
  for (const { events, upstream } of accounts.filter(({ sent }) => refused.some(({ model }) => model === sent.model))) expect([events, upstream]).toEqual([[], null]);
  for (const { events, tooMuch } of accounts.filter(({ sent }) => sent.whole)) expect([events.length, tooMuch]).toEqual([1, { input: 0, output: 0 }]);
  expect(poolAfter).toEqual({ waiting: 0, inFlight: 0, slots: 0 });
  expect(leasesAfter).toBe(0);
}

describe('a pool at 138 % of supply, in real time (experiment 1)', () => {
  it.each(PLAIN)('guaranteed $name of it: none of theirs is refused, spot is refused at once or served at once', { timeout: WITHIN_MS }, async (setup) => {
    const run = await live(setup);
    expectAlways(run);
    expect(run.spot.filter(({ outcome }) => outcome === 'ended')).toEqual([]);
    expect(run.mostAtOnce).toBe(SLOTS);
  });

  it.each(ENDED)('guaranteed $name: spot streams are ended, and the upstream sees them leave', { timeout: WITHIN_MS }, async (setup) => {
    const run = await live(setup);
    expectAlways(run);
    const cut = run.accounts.filter(({ sent }) => run.spot.some(({ model, outcome }) => model === sent.model && outcome === 'ended'));
    expect(cut.length).toBeGreaterThan(0);
    for (const { events } of cut) expect(events.map(({ outcome }) => outcome)).toEqual(['ended']);
    // One that was about to end anyway may have been whole before the upstream heard of it.
    const seen = cut.filter(({ upstream }) => upstream?.disconnected === true);
    expect(seen.length).toBeGreaterThan(0.5 * cut.length);
  });

  it.runIf(FULL_SECONDS > 0)('the same arrivals without a pool: nobody is refused, and all wait for long', { timeout: WITHIN_MS * 2 }, async () => {
    const run = await live({ ...common, name: 'wants ½, no pool', share: 1 / 2, baseline: null });
    expect(run.accounts.every(({ sent }) => sent.whole)).toBe(true);
    expect(run.mostAtOnce).toBeGreaterThan(SLOTS);
  });
});
