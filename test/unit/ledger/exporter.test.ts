import { describe, expect, it } from 'vitest';
import type { LedgerSink } from '../../../src/domain/ledger.js';
import type { StoredEvent } from '../../../src/domain/store.js';
import { LedgerExporter, type ExporterPorts } from '../../../src/ledger/exporter.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { settled, Witness } from '../../support/harness.js';
import { storedRange } from './events.js';

/** Events that wait, as a store keeps them, and a sink in memory. */
class World {
  readonly clock = new VirtualClock(0);
  readonly witness = new Witness();
  readonly written: string[] = [];
  waiting: StoredEvent[] = [];
  writeFaults = 0;
  acknowledgeFaults = 0;
  sinkClosed = false;
  exported = 0;
  readonly sink: LedgerSink = {
    write: async (events) => {
      if (this.writeFaults-- > 0) throw new Error('disk full');
      this.written.push(...events.map(({ id }) => id));
    },
    close: async () => { this.sinkClosed = true; },
  };
  readonly store: ExporterPorts['store'] = {
    pendingEvents: async (limit) => this.waiting.slice(0, limit),
    acknowledgeEvents: async (events) => {
      if (this.acknowledgeFaults-- > 0) throw new Error('away');
      const gone = new Set(events.map(({ id }) => id));
      this.waiting = this.waiting.filter(({ id }) => !gone.has(id));
    },
  };

  exporter(changes: Partial<ExporterPorts> = {}): LedgerExporter {
    return new LedgerExporter({
      store: this.store, sink: this.sink, owner: 'p', clock: this.clock, random: () => 0.5, observer: this.witness,
      onExported: (events) => { this.exported += events; }, ...changes,
    });
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      this.clock.advance(50);
      await settled();
    }
  }
}

const ids = (from: number, to: number) => storedRange(from, to).map(({ id }) => id);

describe('ledger exporter (issue point 5)', () => {
  it('hands on what waits, in order, batch by batch, and the store forgets it', async () => {
    const world = new World();
    world.waiting = storedRange(0, 1_200);
    world.exporter().start();
    await world.pass(200);
    expect(world.written).toEqual(ids(0, 1_200));
    expect(world.waiting).toEqual([]);
    world.waiting = storedRange(1_200, 1_203);
    await world.pass(600);
    expect(world.written).toEqual(ids(0, 1_203));
    expect(world.exported).toBe(1_203);
  });

  it('a sink that fails loses nothing: the fault is counted, and it is tried again with growing pauses', async () => {
    const world = new World();
    world.waiting = storedRange(0, 3);
    world.writeFaults = 4;
    world.exporter().start();
    await world.pass(3_000);
    expect(world.written).toEqual([]);
    expect(world.witness.faults).toEqual(['ledger', 'ledger', 'ledger', 'ledger']);
    expect(world.waiting).toHaveLength(3);
    await world.pass(2_000);
    expect(world.written).toEqual(ids(0, 3));
    expect(world.waiting).toEqual([]);
  });

  it('what the sink has and the store did not forget is not written twice', async () => {
    const world = new World();
    world.waiting = storedRange(0, 3);
    world.acknowledgeFaults = 2;
    world.exporter().start();
    await world.pass(300);
    world.waiting.push(...storedRange(3, 5));
    await world.pass(2_000);
    expect(world.written).toEqual(ids(0, 5));
    expect(world.waiting).toEqual([]);
    expect(world.exported).toBe(5);
  });

  it('of several processors one hands on, and another when that one is gone', async () => {
    const world = new World();
    let holder: { owner: string; untilMs: number } | null = null;
    const claimExport = async (owner: string, nowMs: number) => {
      if (holder !== null && holder.owner !== owner && nowMs < holder.untilMs) return false;
      holder = { owner, untilMs: nowMs + 10_000 };
      return true;
    };
    const store = { ...world.store, claimExport };
    const seen: string[] = [];
    const sink = (name: string): LedgerSink => ({ write: async (events) => { seen.push(...events.map(() => name)); }, close: async () => undefined });
    const [first, second] = ['a', 'b'].map((owner) => world.exporter({ owner, store, sink: sink(owner) }));
    first!.start();
    second!.start();
    for (let n = 0; n < 10; n++) {
      world.waiting.push(...storedRange(n, n + 1));
      await world.pass(1_000);
    }
    expect(seen).toEqual(Array.from({ length: 10 }, () => 'a'));
    const stopped = first!.stop();
    await settled();
    await stopped;
    world.waiting.push(...storedRange(10, 11));
    await world.pass(13_000);
    expect(seen.at(-1)).toBe('b');
    expect(world.waiting).toEqual([]);
  });

  it('stop hands on what is left, however much, and closes the sink', async () => {
    const world = new World();
    const exporter = world.exporter();
    exporter.start();
    await world.pass(100);
    world.waiting = storedRange(0, 1_700);
    await exporter.stop();
    expect(world.written).toEqual(ids(0, 1_700));
    expect(world.sinkClosed).toBe(true);
    expect(world.clock.pending).toBe(0);
  });

  it('stop ends where the sink never answers, or fails: what is left stays in the store', async () => {
    const hung = new World();
    hung.waiting = storedRange(0, 2);
    const exporter = hung.exporter({ sink: { write: () => new Promise(() => undefined), close: async () => undefined } });
    exporter.start();
    await hung.pass(100);
    const stopping = exporter.stop();
    await hung.pass(5_000);
    await stopping;
    expect(hung.waiting).toHaveLength(2);
    const failing = new World();
    failing.waiting = storedRange(0, 2);
    failing.writeFaults = 100;
    await failing.exporter().stop();
    expect(failing.waiting).toHaveLength(2);
    expect(failing.witness.faults).toEqual(['ledger']);
  });
});
