import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UNBOUNDED } from '../../src/domain/pool.js';
import { EnvoyDouble, type Modes } from '../support/envoy-double.js';
import { harness, limit, policyOf, tenant, type Harness } from '../support/harness.js';
import { entitlement, poolPolicy, poolSettings } from '../support/scripted-pools.js';
import { anyStep, disturbed, MODES, troubledStore, troubles, type Step, type Troubles } from './session-script.js';

/** `PROPERTY_RUNS=5000` for a long run. */
const RUNS = { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 200) };

/** A pool with room for so few that others wait, a little. */
function world(slots: number, trouble: Troubles): Harness {
  const settings = poolSettings('chat', { capacity: { ...UNBOUNDED, slots }, maxWaiting: 2 });
  const pool = poolPolicy(settings, { holdMs: { interactive: 400, background: 2_000 } }, [entitlement('gold', { serviceClass: 'guaranteed', baseline: { ...UNBOUNDED, slots: 1 } })]);
  const tenants = [tenant('acme', [limit('concurrency', 10)]), tenant('gold', [limit('concurrency', 10)])];
  const made: Harness = harness(policyOf(tenants, { pools: [pool] }), troubledStore(() => made.clock, trouble));
  return made;
}

async function play(envoy: EnvoyDouble, h: Harness, step: Step): Promise<void> {
  switch (step.kind) {
    case 'request_headers':
      await envoy.requestHeaders(step.headers, step.end);
      return;
    case 'request_body':
      await envoy.requestBody(step.bytes, step.end);
      return;
    case 'request_trailers':
      await envoy.requestTrailers();
      return;
    case 'response_headers':
      await envoy.responseHeaders(step.headers, step.end, step.details);
      return;
    case 'response_body':
      await envoy.responseBody(step.bytes, step.end);
      return;
    case 'response_trailers':
      await envoy.responseTrailers();
      return;
    case 'wait':
    case 'pause':
      h.clock.advance(step.kind === 'wait' ? step.ms : 300);
      await turn();
      return;
    case 'close':
      await envoy.cancel();
  }
}

const session = fc.oneof(fc.array(anyStep, { maxLength: 14 }), { weight: 2, arbitrary: disturbed });
const scenario = fc.record({
  modes: fc.constantFrom<Modes>(...MODES), slots: fc.constantFrom(1, 2), trouble: troubles, drains: fc.option(fc.nat(10)), sessions: fc.array(session, { minLength: 2, maxLength: 5 }),
});

describe('sessions that wait for one another', () => {
  it('end once each, leave nothing at either gate, and are given more time once', async () => {
    await fc.assert(fc.asyncProperty(scenario, async ({ modes, slots, trouble, drains, sessions }) => {
      const h = world(slots, trouble);
      const envoys = sessions.map(() => new EnvoyDouble(h, modes));
      let begun = 0;
      let steps = 0;
      await Promise.all(sessions.map(async (script, i) => {
        const envoy = envoys[i]!;
        let began = false;
        for (const step of script) {
          if (step.kind === 'close') break;
          if (step.kind === 'request_headers' && envoy.failure === null) began = true;
          if (steps++ === drains) h.admission.holds.drain();
          await play(envoy, h, step);
        }
        await envoy.cancel();
        if (began) begun++;
      }));
      // Decoders work in threads of their own: real time bounds the wait for them.
      const until = performance.now() + 1_000;
      const isQuiet = async (): Promise<boolean> => h.witness.records.length >= begun && h.witness.leases === 0 && (await h.store.snapshot([], 0)).leases === 0;
      for (let i = 0; i < 40 || (performance.now() < until && !(await isQuiet())); i++) {
        h.clock.advance(i < 5 ? 500 : 3_000);
        await turn();
      }
      expect(h.witness.records).toHaveLength(begun);
      expect(h.witness.faults.filter((kind) => kind === 'session')).toEqual([]);
      const pool = await h.pools.snapshot('chat', h.clock.nowMs());
      expect([pool?.inFlight ?? 0, pool?.waiting ?? 0, pool?.inUse.slots ?? 0, h.admission.holds.waiting, h.witness.leases]).toEqual([0, 0, 0, 0, 0]);
      expect((await h.store.snapshot([], h.clock.nowMs())).leases).toBe(0);
      for (const { replies } of envoys) {
        expect(replies.filter(({ immediate_response: answer }) => answer).length).toBeLessThanOrEqual(1);
        expect(replies.filter(({ override_message_timeout: time }) => time).length).toBeLessThanOrEqual(modes.request === 'BUFFERED' ? 1 : 0);
      }
      // What was refused, or left, was charged nothing.
      for (const { decision, usage } of h.witness.records) if (decision !== 'admitted') expect(usage).toBeNull();
    }), RUNS);
  }, 600_000);
});
