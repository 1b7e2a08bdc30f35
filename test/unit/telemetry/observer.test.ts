import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { Log } from '../../../src/telemetry/log.js';
import { Metrics } from '../../../src/telemetry/metrics.js';
import { createObserver } from '../../../src/telemetry/observer.js';
import { record } from './records.js';

function observed(write: (line: string) => void) {
  const metrics = new Metrics({ version: '0', processMetrics: false });
  const log = new Log({ level: 'info', clock: new VirtualClock(0), destination: { write } });
  return { observer: createObserver({ metrics, log }), metrics };
}

describe('observer', () => {
  it('turns one finished request into counts and one line', async () => {
    const lines: string[] = [];
    const { observer, metrics } = observed((line) => lines.push(line));
    observer.streamOpened();
    observer.leaseOpened();
    observer.decided(0.4);
    observer.estimateRatio('gpt-4.1', 1.01);
    observer.finished(record());
    observer.leaseClosed();
    observer.streamClosed();
    observer.unmetered('method');
    observer.storeCall('settle', 0.001, true);
    observer.fault('store', new Error('away'));
    const { body } = await metrics.text();
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['request', 'fault']);
    expect(body).toContain('tokenweir_requests_total{tenant="acme",pool="none",decision="admitted",reason="none"} 1\n');
    expect(body).toContain('tokenweir_decision_seconds_count 1\n');
    expect(body).toContain('tokenweir_decision_seconds_bucket{le="0.0005"} 1\n');
    expect(body).toContain('tokenweir_leases 0\n');
    expect(body).toContain('tokenweir_streams 0\n');
    expect(body).toContain('tokenweir_unmetered_requests_total{why="method"} 1\n');
    expect(body).toContain('tokenweir_store_errors_total{op="settle"} 1\n');
    expect(body).toContain('tokenweir_faults_total{kind="store"} 1\n');
  });

  it('tells of leases that others settled, and of those of dead processors; the usual settlement needs no line (issue point 3)', async () => {
    const lines: string[] = [];
    const { observer, metrics } = observed((line) => lines.push(line));
    for (const result of ['settled', 'already_ended', 'corrected', 'unknown'] as const) observer.settled(result, `lease-${result}`);
    observer.reaped(4);
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(told.map(({ level, leaseId, leases }) => [level, leaseId ?? leases])).toEqual([['info', 'lease-corrected'], ['warn', 'lease-unknown'], ['info', 4]]);
    const { body } = await metrics.text();
    for (const result of ['settled', 'already_ended', 'corrected', 'unknown']) expect(body).toContain(`tokenweir_settlements_total{result="${result}"} 1\n`);
    expect(body).toContain('tokenweir_reaped_leases_total 4\n');
  });

  it('throws nothing where the log fails or figures are no numbers, and counts that', async () => {
    const { observer, metrics } = observed(() => {
      throw new Error('disk full');
    });
    observer.finished(record());
    observer.decided(Number.NaN);
    observer.fault('session', new Error('x'));
    const { body } = await metrics.text();
    expect(body).toContain('tokenweir_requests_total{tenant="acme",pool="none",decision="admitted",reason="none"} 1\n');
    expect(body).toContain('tokenweir_faults_total{kind="session"} 1\n');
    expect(body).toContain('tokenweir_faults_total{kind="telemetry"} 3\n');
  });
});
