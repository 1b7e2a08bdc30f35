import { describe, expect, it } from 'vitest';
import { ConstantNode } from '../../../src/sim/engine-constant.js';
import { Fleet } from '../../../src/sim/fleet.js';
import { NodeRun, sequence } from './support.js';

const SPEC = { kind: 'constant', slots: 2, serviceMs: 850, firstTokenMs: 50 } as const;

function run(): NodeRun {
  return new NodeRun((host) => new ConstantNode(SPEC, 0, host));
}

describe('a node with constant service', () => {
  it('serves each for its time, as many as it has slots, in order', () => {
    const it = run();
    const all = [sequence(1, 10, 850), sequence(1, 10, 850), sequence(1, 10, 850)];
    all.forEach((one) => it.node.submit(one, 0));
    it.until(1e6);
    expect(all.map((one) => it.firstTokenMs.get(one))).toEqual([50, 50, 900]);
    expect(all.map((one) => it.finishedMs.get(one))).toEqual([850, 850, 1700]);
  });

  it('serves requests of different length beside each other', () => {
    const it = run();
    const [long, short] = [sequence(1, 10, 60_000), sequence(1, 10, 850)];
    [long, short].forEach((one) => it.node.submit(one, 0));
    it.until(30_000);
    expect(it.finishedMs.get(short)).toBe(850);
    expect(it.node.progress(long, 30_000)).toBe(5);
    expect(it.node.abort(long, 36_000)).toBe(6);
    expect(it.node.running).toBe(0);
  });

  it('goes on with what runs when it has fewer slots, and loses all with its node', () => {
    const it = run();
    const all = [sequence(1, 10, 850), sequence(1, 10, 850), sequence(1, 10, 850)];
    all.forEach((one) => it.node.submit(one, 0));
    it.node.setSlots(1, 10);
    it.until(860);
    expect([it.finishedMs.size, it.node.running]).toEqual([2, 1]);
    it.node.lose(900);
    expect(it.failedMs.get(all[2]!)).toBe(900);
  });
});

describe('several nodes', () => {
  it('give a request to the one with the smallest share of its slots taken, not to those that drain or are lost', () => {
    const fleet = new Fleet(SPEC, 3, { schedule: () => undefined, firstToken: () => undefined, finished: () => undefined, failed: () => undefined });
    const placed = (): number => {
      const one = sequence(1, 1, 850);
      fleet.submit(one, 0);
      return one.node;
    };
    expect([placed(), placed(), placed(), placed()]).toEqual([0, 1, 2, 0]);
    fleet.setSlots(1, 4, 0);
    expect([placed(), placed()]).toEqual([1, 1]);
    fleet.setSlots(2, 0, 0);
    fleet.lose(0, 0);
    expect([placed(), placed(), placed()]).toEqual([1, 1, 1]);
    expect([fleet.slots, fleet.running, fleet.queued, fleet.liveNodes]).toEqual([4, 5, 2, 1]);
    fleet.lose(1, 0);
    expect(fleet.submit(sequence(1, 1, 850), 0)).toBe(false);
  });

  it('grow and shrink: a node that was drained comes back before a new one is made', () => {
    const fleet = new Fleet(SPEC, 2, { schedule: () => undefined, firstToken: () => undefined, finished: () => undefined, failed: () => undefined });
    fleet.drain(1, 0);
    expect([fleet.nodes.length, fleet.liveNodes, fleet.slots]).toEqual([2, 1, 2]);
    fleet.grow(0);
    expect([fleet.nodes.length, fleet.liveNodes]).toEqual([2, 2]);
    fleet.grow(0);
    expect([fleet.nodes.length, fleet.slots]).toEqual([3, 6]);
  });
});
