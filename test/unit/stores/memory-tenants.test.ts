import { describe, expect, test } from 'vitest';
import { hold, release } from '../../../src/stores/memory-buckets.js';
import { TenantTable } from '../../../src/stores/memory-tenants.js';
import { charge } from '../../conformance/store-builders.js';

const tokens = (tenantId: string) => charge('tokens', { tenantId, limit: 6_000, amount: 100 });

describe('the sweep', () => {
  test('forgets buckets that are full again and held by nobody, as fast as new ones come', () => {
    const table = new TenantTable(10);
    for (let i = 0; i < 20_000; i++) {
      const nowMs = i * 100;
      table.sweep(3, nowMs);
      const one = tokens(`t${i}`);
      release(hold(table.openBucket(one, nowMs), one, nowMs).bucket, nowMs);
    }
    // A bucket is full again after a second and kept for a minute more, in which 610 tenants come.
    expect(table.size.buckets).toBeLessThan(1_300);
    expect(table.size.tenants).toBeLessThan(2_600);
  });

  test('keeps what is charged or held', () => {
    const table = new TenantTable(10);
    hold(table.openBucket(tokens('held'), 0), tokens('held'), 0);
    release(hold(table.openBucket(tokens('charged'), 0), tokens('charged'), 0).bucket, 0);
    for (let i = 0; i < 10; i++) table.sweep(5, 60_999);
    expect(table.size.buckets).toBe(2);
    for (let i = 0; i < 10; i++) table.sweep(5, 61_000);
    expect(table.bucket(tokens('held').key)).toBeDefined();
    expect(table.bucket(tokens('charged').key)).toBeUndefined();
  });

  test('keeps a free concurrency bucket for what it learned', () => {
    const table = new TenantTable(10);
    const places = charge('concurrency', { limit: 2 });
    release(hold(table.openBucket(places, 0), places, 0).bucket, 1_000);
    for (let i = 0; i < 4; i++) table.sweep(5, 120_999);
    expect(table.size.buckets).toBe(1);
    for (let i = 0; i < 4; i++) table.sweep(5, 121_000);
    expect(table.size).toEqual({ tenants: 0, buckets: 0 });
  });

  test('what a clock saw as full stays full when it steps back by less than a minute', () => {
    const table = new TenantTable(10);
    release(hold(table.openBucket(tokens('acme'), 10_000), tokens('acme'), 10_000).bucket, 10_000);
    for (let i = 0; i < 4; i++) table.sweep(5, 70_000);
    // It steps back to a time at which the bucket was not full yet: that must not be forgotten.
    expect(table.isIdle('acme', 10_100)).toBe(false);
  });
});
