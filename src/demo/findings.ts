import { tokensAtOnce, type TenantName } from './cast.js';
import type { Step, Told } from './story.js';
import type { TokenCount } from './upstream.js';

/** One thing the demo is to show, and whether it did. */
export interface Finding {
  readonly ok: boolean;
  readonly text: string;
}

/** What the demo claims, judged by what happened. */
export function findingsOf(told: Told): Finding[] {
  return [...within(told), ...above(told), ...leaving(told), atEnd(told)];
}

/** The steps of one tenant, in order. */
export function stepsOf({ steps }: Told, tenant: TenantName): readonly Step[] {
  return steps.filter((step) => step.tenant === tenant);
}

/** What the model server counted for a tenant in sum. */
export function upstreamOf(told: Told, tenant: TenantName): TokenCount {
  const counts = stepsOf(told, tenant).map(({ upstream }) => upstream);
  return { input: sum(counts.map(({ input }) => input)), output: sum(counts.map(({ output }) => output)) };
}

export function isSame(a: TokenCount, b: TokenCount): boolean {
  return a.input === b.input && a.output === b.output;
}

function within(told: Told): Finding[] {
  const steps = stepsOf(told, 'alder');
  const [, unasked, asked] = steps;
  const hidden = unasked?.answer.sawUsage === false && asked?.answer.sawUsage === true;
  return [
    { ok: steps.length === 3 && steps.every(({ answer }) => answer.status === 200), text: 'alder stays within its limits: all three requests are answered' },
    { ok: hidden, text: 'the client that did not ask for usage sees none, the one that asked sees it; the ledger has both' },
    { ok: isSame(told.charged.alder, upstreamOf(told, 'alder')), text: "alder's charge is the upstream's own count, to the token" },
  ];
}

function above(told: Told): Finding[] {
  const [first, refused, again] = stepsOf(told, 'birch');
  const waitText = `${(told.waitedMs / 1000).toFixed(1)} s`;
  return [
    { ok: first?.answer.status === 200 && refused?.answer.status === 429 && told.waitedMs > 0, text: `birch asks for more tokens than it has: refused with 429 and told to wait ${waitText}` },
    { ok: again?.answer.status === 200, text: `birch comes again after exactly ${waitText}: admitted` },
    { ok: isSame(told.charged.birch, upstreamOf(told, 'birch')), text: "birch is charged for the answers it got, and nothing for the refusal: again the upstream's own count" },
  ];
}

/** The bucket's level is read twice and rounded down each time, so it may be one short; and it never goes above full. */
function leaving({ cedar, ...told }: Told): Finding[] {
  const step = stepsOf({ cedar, ...told }, 'cedar').at(-1);
  const event = step?.event ?? null;
  if (event === null) return [{ ok: false, text: "cedar's request is not in the ledger" }];
  const charged = event.inputTokens + event.outputTokens;
  const reserved = event.reservedInputTokens + event.reservedOutputTokens;
  const back = reserved - charged;
  const expected = Math.min(tokensAtOnce('cedar'), cedar.whileStreaming + back) - 1;
  return [
    {
      ok: step?.answer.left === true && event.outcome === 'cut' && event.outputTokens > 0,
      text: `cedar leaves in mid-stream: what had passed is counted (${event.inputTokens} + ${event.outputTokens} tokens, marked as our count: ${event.estimated ? 'yes' : 'no'})`,
    },
    {
      ok: back > 0 && cedar.afterLeaving >= expected,
      text: `the rest of its reservation is given back at once: ${reserved} reserved, ${charged} charged, ${back} back; its bucket had ${cedar.whileStreaming} left while it streamed, ${cedar.afterLeaving} after`,
    },
  ];
}

function atEnd({ leases }: Told): Finding {
  return { ok: leases === 0, text: `no reservation is left open (leases: ${leases})` };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
