import type { SimResult, TenantResult } from './result.js';

/** Columns of text, numbers to the right. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]!.length)));
  const line = (row: readonly string[]): string => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ').trimEnd();
  return [line(head), widths.map((width) => '─'.repeat(width)).join('──'), ...rows.map(line)].join('\n');
}

/** A report for people: the pool under each policy, then the tenants under each. */
export function reportText(results: readonly SimResult[]): string {
  const parts = [poolTable(results), ...results.map((result) => `${result.policy}\n${tenantTable(result)}`), LEGEND];
  return `${parts.join('\n\n')}\n`;
}

const LEGEND = `Work: tokens of output, and of uncached prompt × the pool's prefill weight. TTFT and latency count from a client's first attempt. SLO: share of all
requests that finished with a first token in time; goodput: work of these. busy, full, timeout, large: attempts refused as pool_busy, queue_full,
queue_timeout, pool_too_small. gone: clients that left, requests lost with a node. ended: streams ended for others or for memory.`;

function poolTable(results: readonly SimResult[]): string {
  const head = ['policy', 'capacity/s', 'offered/s', 'served/s', 'goodput/s', 'slots used', 'idle while waiting', 'waiting mean', 'max', 'preemptions'];
  const rows = results.map(({ policy, pool }) => [
    ...[policy, whole(pool.capacityPerSecond), whole(pool.offeredPerSecond), whole(pool.servedPerSecond), whole(pool.goodputPerSecond)],
    ...[percent(pool.utilisation), percent(pool.idleWhileWaiting), pool.waitingMean.toFixed(1), whole(pool.waitingMax), whole(pool.preemptions)],
  ]);
  return textTable(head, rows);
}

function tenantTable({ tenants }: SimResult): string {
  const head = ['tenant', 'class', 'requests', 'finished', 'SLO', 'share', 'served/s', 'goodput/s', 'TTFT p50', 'p90', 'p99', 'latency p50', 'p90', 'p99', 'wait p99'];
  const more = ['busy', 'full', 'timeout', 'large', 'gone', 'ended', 'debt max'];
  return textTable([...head, ...more], tenants.map(tenantRow));
}

function tenantRow(tenant: TenantResult): string[] {
  const { refusals, ttftMs, latencyMs, waitMs } = tenant;
  return [
    ...[tenant.id, tenant.serviceClass, whole(tenant.requests), whole(tenant.finished), percent(tenant.sloShare), percent(tenant.share)],
    ...[whole(tenant.servedPerSecond), whole(tenant.goodputPerSecond), ...[ttftMs.p50, ttftMs.p90, ttftMs.p99].map(seconds)],
    ...[...[latencyMs.p50, latencyMs.p90, latencyMs.p99].map(seconds), seconds(waitMs.p99)],
    ...[refusals.pool_busy, refusals.queue_full, refusals.queue_timeout, refusals.pool_too_small, tenant.left + tenant.lost, tenant.endedStreams].map(whole),
    whole(tenant.debtMaxTokens),
  ];
}

function whole(value: number): string {
  return Number.isFinite(value) ? String(Math.round(value)) : '–';
}

function percent(share: number): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(1)}%` : '–';
}

/** Milliseconds as seconds. */
function seconds(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  return ms < 10_000 ? (ms / 1000).toFixed(2) : (ms / 1000).toFixed(1);
}
