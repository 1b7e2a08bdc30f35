import { afterEach, describe, expect, it } from 'vitest';
import type { Log } from '../../../src/telemetry/log.js';
import { Metrics } from '../../../src/telemetry/metrics.js';
import { createPoolsObserver } from '../../../src/telemetry/pools-observer.js';

const open: Metrics[] = [];
afterEach(() => {
  for (const metrics of open.splice(0)) metrics.close();
});

function world() {
  const metrics = new Metrics({ version: '0', processMetrics: false });
  open.push(metrics);
  const told: string[] = [];
  const say = (text: string): void => { told.push(text); };
  const log = { info: say, warn: say, error: say, fault: say } as unknown as Log;
  const samples = async (): Promise<string[]> => (await metrics.text()).body.split('\n').filter((line) => /^tokenweir_pool_(keeper|takeovers_total|alone)\{/.test(line));
  return { told, samples, observer: createPoolsObserver({ metrics, log }) };
}

const as = (keeper: number, takeovers: number, alone: number): string[] => [
  `tokenweir_pool_keeper{pool="chat"} ${keeper}`, `tokenweir_pool_takeovers_total{pool="chat"} ${takeovers}`, `tokenweir_pool_alone{pool="chat"} ${alone}`,
];

describe('what happens between processors that share pools', () => {
  it('shows who keeps a pool, how often that changed, and who decides alone', async () => {
    const { observer, samples } = world();
    expect(await samples()).toEqual([]);
    observer.poolUsed('chat');
    expect(await samples()).toEqual(as(0, 0, 0));
    observer.keeperBegan('chat');
    expect(await samples()).toEqual(as(1, 1, 0));
    observer.keeperEnded('chat');
    observer.poolAway('chat');
    expect(await samples()).toEqual(as(0, 1, 1));
    observer.poolBack('chat', 2_000);
    observer.keeperBegan('chat');
    expect(await samples()).toEqual(as(1, 2, 0));
  });

  it('is told in the log', () => {
    const { observer, told } = world();
    observer.keeperBegan('chat');
    observer.keeperReady('chat', 3.4);
    observer.keeperEnded('chat');
    observer.poolAway('chat');
    observer.poolBack('chat', 2_000);
    expect(told).toHaveLength(5);
    expect(told[3]).toBe('no processor keeps a pool: requests are decided without one');
  });
});
