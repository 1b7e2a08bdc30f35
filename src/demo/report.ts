import { TENANT_NAMES, type TenantName } from './cast.js';
import { findingsOf, isSame, stepsOf, upstreamOf, type Finding } from './findings.js';
import type { Paint } from './screen.js';
import type { Step, Told } from './story.js';
import { tableLines } from './table.js';
import type { TokenCount } from './upstream.js';

const NOTHING = '–';

/** What happened, as lines: every request, every tenant, what it shows. */
export function reportLines(told: Told, upstreamTitle: string, paint: Paint): string[] {
  return [
    paint.bold('Every request (tokens: in + out)'),
    ...requestTable(told.steps),
    '',
    paint.bold('Every tenant'),
    ...tenantTable(told, upstreamTitle),
    '',
    paint.bold('What it shows'),
    ...findingsOf(told).map((finding) => findingLine(finding, paint)),
  ];
}

/** One step in a line, for those who watch. */
export function stepLine({ tenant, what, answer, event }: Step): string {
  const end = event === null ? (answer.refusal?.message ?? `status ${answer.status}`) : `${answer.status}, charged ${inOut(chargedOf(event))}`;
  return `${tenant}: ${what}: ${end}`;
}

function requestTable(steps: readonly Step[]): string[] {
  const columns = [
    { title: '#', right: true },
    { title: 'tenant' },
    { title: 'what' },
    { title: 'estimate', right: true },
    { title: 'decision' },
    { title: 'status', right: true },
    { title: 'wait told', right: true },
    { title: 'ledger', right: true },
    { title: 'upstream', right: true },
  ];
  return tableLines(columns, steps.map(requestRow));
}

function requestRow({ tenant, what, answer, event, upstream }: Step, index: number): string[] {
  const none = upstream.input + upstream.output === 0;
  return [
    ...[String(index + 1), tenant, what, estimateText({ answer, event })],
    ...[decisionText({ answer, event }), String(answer.status), waitText(answer)],
    ...[event === null ? NOTHING : `${event.estimated ? '≈ ' : ''}${inOut(chargedOf(event))}`, none ? NOTHING : inOut(upstream)],
  ];
}

/** An answer of which the ledger knows nothing went past the processor. */
function decisionText({ answer, event }: Pick<Step, 'answer' | 'event'>): string {
  if (event !== null) return 'admitted';
  return answer.status < 400 ? 'not seen' : 'refused';
}

function estimateText({ answer, event }: Pick<Step, 'answer' | 'event'>): string {
  if (event !== null) return inOut({ input: event.reservedInputTokens, output: event.reservedOutputTokens });
  return answer.refusal === null ? NOTHING : `${answer.refusal.needed} in all`;
}

function waitText({ retryAfterMs, retryAfterSeconds }: Step['answer']): string {
  return retryAfterMs === null ? NOTHING : `${retryAfterMs} ms (${retryAfterSeconds ?? 0} s)`;
}

function chargedOf(event: { readonly inputTokens: number; readonly outputTokens: number }): TokenCount {
  return { input: event.inputTokens, output: event.outputTokens };
}

function tenantTable(told: Told, upstreamTitle: string): string[] {
  const columns = [
    { title: 'tenant' },
    { title: 'requests', right: true },
    { title: 'refused', right: true },
    { title: 'charged', right: true },
    { title: "upstream's count", right: true },
    { title: 'difference' },
  ];
  const rows = TENANT_NAMES.map((tenant) => tenantRow(told, tenant));
  return [...tableLines(columns, rows), ...explanation(told, upstreamTitle)];
}

function tenantRow(told: Told, tenant: TenantName): string[] {
  const steps = stepsOf(told, tenant);
  const refused = steps.filter(({ event }) => event === null).length;
  const [charged, counted] = [told.charged[tenant], upstreamOf(told, tenant)];
  return [tenant, String(steps.length), String(refused), inOut(charged), inOut(counted), differenceText(charged, counted)];
}

function differenceText(charged: TokenCount, counted: TokenCount): string {
  if (isSame(charged, counted)) return 'none';
  return `${signed(charged.input - counted.input)} in, ${signed(charged.output - counted.output)} out`;
}

/** Why our count may differ: only where an answer was cut. */
function explanation(told: Told, upstreamTitle: string): string[] {
  const differs = TENANT_NAMES.filter((tenant) => !isSame(told.charged[tenant], upstreamOf(told, tenant)));
  if (!differs.includes('cedar')) return [];
  return [
    `cedar left before the end, so its answer never told its usage: the ledger has our estimate of the prompt and our count of`,
    `the text that passed, marked ≈. ${sentence(upstreamTitle)} counts by its own tokenizer, and what it made before it saw the client leave.`,
  ];
}

function findingLine({ ok, text }: Finding, paint: Paint): string {
  return ok ? `${paint.good('✓')} ${text}` : `${paint.bad('✗')} ${text}`;
}

function inOut({ input, output }: TokenCount): string {
  return `${input} + ${output}`;
}

function signed(number: number): string {
  return number > 0 ? `+${number}` : String(number);
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
