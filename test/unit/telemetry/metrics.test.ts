import { afterEach, describe, expect, it } from 'vitest';
import { Metrics } from '../../../src/telemetry/metrics.js';
import { record } from './records.js';

const open: Metrics[] = [];

function metrics(processMetrics = false): Metrics {
  const created = new Metrics({ version: '1.2.3', processMetrics });
  open.push(created);
  return created;
}

afterEach(() => {
  for (const created of open.splice(0)) created.close();
});

/** Sample lines (no comments) whose name and labels begin like this. */
async function samples(of: Metrics, prefix: string): Promise<string[]> {
  const { body } = await of.text();
  return body.split('\n').filter((line) => line.startsWith(prefix));
}

describe('metrics (point 8)', () => {
  it('carry the fixed names', async () => {
    const { body, contentType } = await metrics(true).text();
    const names = [
      'tokenweir_requests_total',
      'tokenweir_tokens_total',
      'tokenweir_decision_seconds',
      'tokenweir_estimate_error_ratio',
      'tokenweir_leases',
      'tokenweir_streams',
      'tokenweir_unmetered_requests_total',
      'tokenweir_store_seconds',
      'tokenweir_store_errors_total',
      'tokenweir_eventloop_lag_seconds',
      'tokenweir_faults_total',
      'tokenweir_build_info',
      'process_resident_memory_bytes',
    ];
    for (const name of names) expect(body).toContain(`# TYPE ${name} `);
    expect(contentType).toContain('text/plain');
  });

  it('count a request and its tokens in kinds that do not overlap', async () => {
    const some = metrics();
    some.request(record());
    expect(await samples(some, 'tokenweir_requests_total')).toEqual([
      'tokenweir_requests_total{tenant="acme",pool="none",decision="admitted",reason="none"} 1',
    ]);
    expect(await samples(some, 'tokenweir_tokens_total')).toEqual([
      'tokenweir_tokens_total{tenant="acme",model="gpt-4.1",kind="input"} 500',
      'tokenweir_tokens_total{tenant="acme",model="gpt-4.1",kind="cached_input"} 300',
      'tokenweir_tokens_total{tenant="acme",model="gpt-4.1",kind="output"} 150',
      'tokenweir_tokens_total{tenant="acme",model="gpt-4.1",kind="reasoning"} 50',
    ]);
  });

  it('keep a registry each', async () => {
    const one = metrics();
    const two = metrics();
    one.request(record());
    expect(await samples(two, 'tokenweir_requests_total')).toEqual([]);
  });

  it('show faults and unmetered requests from zero on, so that the first one is an increase', async () => {
    const some = metrics();
    expect(await samples(some, 'tokenweir_faults_total{kind="session"}')).toEqual(['tokenweir_faults_total{kind="session"} 0']);
    some.fault('session');
    some.unmetered('store_failed');
    expect(await samples(some, 'tokenweir_faults_total{kind="session"}')).toEqual(['tokenweir_faults_total{kind="session"} 1']);
    expect(await samples(some, 'tokenweir_unmetered_requests_total{why="store_failed"}')).toEqual([
      'tokenweir_unmetered_requests_total{why="store_failed"} 1',
    ]);
  });

  it('tell store calls, errors, leases, streams and ratios', async () => {
    const some = metrics();
    some.storeCall('reserve', 0.002, false);
    some.storeCall('reserve', 0.002, true);
    some.leases(1);
    some.leases(1);
    some.leases(-1);
    some.streams(1);
    some.estimateRatio('gpt-4.1', 1.04);
    some.estimateRatio('gpt-4.1', Number.NaN);
    expect(await samples(some, 'tokenweir_store_seconds_count')).toEqual(['tokenweir_store_seconds_count{op="reserve"} 2']);
    expect(await samples(some, 'tokenweir_store_errors_total')).toEqual(['tokenweir_store_errors_total{op="reserve"} 1']);
    expect(await samples(some, 'tokenweir_leases')).toEqual(['tokenweir_leases 1']);
    expect(await samples(some, 'tokenweir_streams ')).toEqual(['tokenweir_streams 1']);
    expect(await samples(some, 'tokenweir_estimate_error_ratio_count')).toEqual(['tokenweir_estimate_error_ratio_count{model="gpt-4.1"} 1']);
  });
});

describe('label values are bounded (point 8)', () => {
  it('a flood of invented models that no upstream answered for is one series and pushes nothing out', async () => {
    const some = metrics();
    for (let i = 0; i < 5_000; i++) some.request(record({ model: `invented-${i}`, estimated: true }));
    some.request(record({ model: 'real' }));
    const models = new Set((await samples(some, 'tokenweir_tokens_total')).map((line) => /model="([^"]*)"/.exec(line)?.[1]));
    expect(models).toEqual(new Set(['other', 'real']));
  });

  it('one tenant whose upstream answers to any name leaves room for the others', async () => {
    const some = metrics();
    for (let i = 0; i < 5_000; i++) some.request(record({ tenantLabel: 'flooder', model: `invented-${i}` }));
    some.request(record({ model: 'real' }));
    const lines = await samples(some, 'tokenweir_tokens_total');
    expect(lines.some((line) => line.includes('model="real"'))).toBe(true);
    expect(new Set(lines.map((line) => /model="([^"]*)"/.exec(line)?.[1])).size).toBe(52);
  });

  it('tenants and models together stay below the series bound', async () => {
    const some = metrics();
    for (let t = 0; t < 200; t++) {
      for (let m = 0; m < 40; m++) some.request(record({ tenantLabel: `t${t}`, model: `m${m}` }));
    }
    const pairs = new Set((await samples(some, 'tokenweir_tokens_total')).map((line) => /tenant="[^"]*",model="[^"]*"/.exec(line)?.[0]));
    expect(pairs.size).toBeLessThanOrEqual(5_000 + 200);
  });

  it('hostile values can neither break a line nor grow it', async () => {
    const some = metrics();
    some.request(record({ model: `a"} 1\ntokenweir_leases 99\n${'x'.repeat(100_000)}`, tenantLabel: 'line\nbreak' }));
    const { body } = await some.text();
    expect(body.split('\n').filter((line) => line.startsWith('tokenweir_leases'))).toEqual(['tokenweir_leases 0']);
    expect(Math.max(...body.split('\n').map((line) => line.length))).toBeLessThan(500);
  });
});
