import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../src/lib/virtual-clock.js';
import { openJournal } from '../../../../src/stores/fallback/journal-file.js';
import { Journal, type JournalCopy, type SettleEntry } from '../../../../src/stores/fallback/journal.js';
import { charge, event, used } from '../../../conformance/store-builders.js';
import { Away, T0 } from './away.js';

function entry(leaseId: string): SettleEntry {
  const consumed = used(10, 20);
  return {
    kind: 'settle', leaseId, tenantId: 'acme', rootId: 'acme', owner: 'p1', held: [charge('tokens', { limit: 100 })], consumed,
    event: event(leaseId, consumed, { settledAtMs: T0 - 1_000 }), atStore: 'no', inShare: true, charged: [charge('tokens', { limit: 100 })], triedMs: null,
  };
}

const ids = (journal: Journal): string[] => journal.entries().map(({ leaseId }) => leaseId);

describe('a journal in memory', () => {
  test('is bounded in number: the oldest give way, and settlements among them are counted', () => {
    const journal = new Journal({ maxEntries: 3, maxBytes: 1_000_000 });
    journal.add({ kind: 'cancel', leaseId: 'c' });
    for (const id of ['a', 'b', 'd', 'e']) journal.add(entry(id));
    expect(ids(journal)).toEqual(['b', 'd', 'e']);
    expect(journal.size).toMatchObject({ entries: 3, dropped: 1 });
  });

  test('is bounded in bytes', () => {
    const one = JSON.stringify(entry('a')).length;
    const journal = new Journal({ maxEntries: 100, maxBytes: 2 * one });
    for (const id of ['a', 'b', 'c']) journal.add(entry(id));
    expect(journal.size).toEqual({ entries: 2, bytes: 2 * one, dropped: 1 });
    journal.done('b');
    journal.done('c');
    journal.done('c');
    expect(journal.size).toEqual({ entries: 0, bytes: 0, dropped: 1 });
  });

  test('tells its copy of what gave way, so that it does not come back', () => {
    const told: string[] = [];
    const copy: JournalCopy = { added: ({ leaseId }) => told.push(`+${leaseId}`), done: (id) => told.push(`-${id}`), close: async () => undefined };
    const journal = new Journal({ maxEntries: 1, maxBytes: 10_000 }, copy);
    for (const id of ['a', 'b']) journal.add(entry(id));
    journal.done('b');
    expect(told).toEqual(['+a', '+b', '-a', '-b']);
  });
});

describe('a journal on disk', () => {
  let folder = '';
  let path = '';
  const faults: unknown[] = [];
  const open = (maxBytes = 1_000_000) =>
    openJournal({ path, bounds: { maxEntries: 100, maxBytes }, clock: new VirtualClock(T0), onFault: (error) => faults.push(error) });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
    path = join(folder, 'deeper', 'journal.jsonl');
    faults.length = 0;
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('is there again after a restart, without what was booked', async () => {
    const first = await open();
    for (const id of ['a', 'b', 'c']) first.add(entry(id));
    first.add({ kind: 'cancel', leaseId: 'x' });
    first.done('b');
    await first.close();
    const second = await open();
    expect(ids(second)).toEqual(['a', 'c', 'x']);
    expect(second.entries()[0]).toMatchObject({ consumed: used(10, 20), triedMs: T0 - 1_000, charged: [], inShare: false });
    await second.close();
    expect(faults).toEqual([]);
  });

  test('passes over a line that a crash cut, and what is not ours', async () => {
    const first = await open();
    first.add(entry('a'));
    await first.close();
    await appendFile(path, 'null\n{"entry":null}\n{"entry":{"leaseId":"q","kind":"settle"}}\n{"entry":{"kind":"settle","leaseId":"b","tena');
    const second = await open();
    expect(ids(second)).toEqual(['a']);
    second.add(entry('c'));
    await second.close();
    expect(ids(await open())).toEqual(['a', 'c']);
  });

  test('keeps lines that it can not read beside it and tells, and books the rest', async () => {
    const whole = entry('a');
    const damaged = [
      { ...whole, rootId: undefined }, { ...whole, held: [null] }, { ...whole, held: [{ ...charge('tokens', { limit: 1 }), dimension: 'dollars' }] }, { ...whole, atStore: 'perhaps' },
      { ...whole, consumed: {} }, { ...whole, event: { settledAtMs: 1 } }, { ...whole, event: { ...whole.event, lines: null } },
    ].map((one) => JSON.stringify({ entry: one }));
    await mkdir(join(folder, 'deeper'));
    await writeFile(path, `${[...damaged, '{"ent', JSON.stringify({ entry: whole })].join('\n')}\n{"entry":{"kind":"settle","lea`);
    const clock = new VirtualClock(T0);
    const journal = await openJournal({ path, bounds: { maxEntries: 100, maxBytes: 1_000_000 }, clock, onFault: (error) => faults.push(error) });
    expect(ids(journal)).toEqual(['a']);
    expect(String(faults)).toMatch(/8 lines of the journal could not be read; they are in .*journal\.jsonl\.unreadable/);
    expect((await readFile(`${path}.unreadable`, 'utf8')).split('\n')).toEqual([...damaged, '{"ent', '']);
    expect((await stat(`${path}.unreadable`)).mode & 0o777).toBe(0o600);
    const away = new Away({ journal });
    await away.pass(8_000);
    expect([away.journal.isEmpty, away.told]).toEqual([true, []]);
    expect((await away.shared.snapshot([], T0)).totals.get('acme')).toMatchObject({ requests: 1, inputTokens: 10 });
    await journal.close();
  });

  test('does not grow without end, and is empty when all is booked', async () => {
    const one = JSON.stringify(entry('x0000')).length;
    const journal = await open(10 * one);
    for (let i = 0; i < 200; i++) {
      journal.add(entry(`x${String(i).padStart(4, '0')}`));
      await new Promise(setImmediate);
    }
    await journal.close();
    expect((await stat(path)).size).toBeLessThan(40 * one);
    const again = await open(10 * one);
    expect(again.size.entries).toBe(10);
    for (const id of ids(again)) again.done(id);
    await again.close();
    expect(await readFile(path, 'utf8')).toBe('');
  });

  test('is readable by its owner alone', async () => {
    await (await open()).close();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('that can not be kept is told at the start', async () => {
    await writeFile(join(folder, 'deeper'), 'a file');
    await expect(open()).rejects.toThrow();
  });

  test('that can not be written any more is told, and goes on in memory', async () => {
    const journal = await open();
    await rm(join(folder, 'deeper'), { recursive: true });
    journal.add(entry('a'));
    journal.done('a');
    await expect.poll(() => faults.length).toBeGreaterThan(0);
    journal.add(entry('b'));
    await journal.close();
    expect(ids(journal)).toEqual(['b']);
    expect(faults.length).toBeGreaterThan(0);
  });

  test('that failed is written whole a second later, though nothing else comes, and is not tried with every entry', async () => {
    const clock = new VirtualClock(T0);
    const journal = await openJournal({ path, bounds: { maxEntries: 100, maxBytes: 1_000_000 }, clock, onFault: (error) => faults.push(error) });
    await rm(join(folder, 'deeper'), { recursive: true });
    await writeFile(join(folder, 'deeper'), 'a file');
    journal.add(entry('a'));
    await expect.poll(() => clock.pending).toBe(1);
    clock.advance(1_000);
    await expect.poll(() => faults.length).toBe(1);
    for (const id of ['b', 'c', 'd']) {
      journal.add(entry(id));
      await new Promise(setImmediate);
    }
    journal.done('c');
    await rm(join(folder, 'deeper'));
    await mkdir(join(folder, 'deeper'));
    clock.advance(1_000);
    const lines = async (): Promise<number> => (await readFile(path, 'utf8').catch(() => '')).split('\n').length - 1;
    await expect.poll(lines).toBe(3);
    expect(await readdir(join(folder, 'deeper'))).toEqual(['journal.jsonl']);
    expect(faults.length).toBe(1);
    await journal.close();
  });

  test('on a disk that is full at the start is told, there, and written when there is room', async () => {
    const clock = new VirtualClock(T0);
    const make = () => openJournal({ path, bounds: { maxEntries: 100, maxBytes: 1_000_000 }, clock, onFault: (error) => faults.push(error) });
    const before = await make();
    before.add(entry('a'));
    await before.close();
    await symlink('/dev/full', `${path}.new`);
    const journal = await make();
    expect(ids(journal)).toEqual(['a']);
    expect(String(faults)).toMatch(/ENOSPC/);
    journal.add(entry('b'));
    clock.advance(1_000);
    await expect.poll(async () => (await readFile(path, 'utf8')).split('\n').length - 1).toBe(2);
    await journal.close();
  });

  test('whose file is taken away, or given to another processor too, is whole again within a second of the next entry, and the second is told', async () => {
    const clock = new VirtualClock(T0);
    const make = () => openJournal({ path, bounds: { maxEntries: 100, maxBytes: 1_000_000 }, clock, onFault: (error) => faults.push(error) });
    const written = async (): Promise<string[]> => [...(await readFile(path, 'utf8').catch(() => '')).matchAll(/"leaseId":"(\w+)","tenantId"/g)].map(([, id]) => id!);
    const addSynced = async (journal: Journal, id: string): Promise<void> => {
      journal.add(entry(id));
      await expect.poll(() => clock.pending).toBe(1);
      clock.advance(1_000);
    };
    const first = await make();
    first.add(entry('a'));
    await expect.poll(written).toEqual(['a']);
    await rename(path, `${path}.gone`);
    await addSynced(first, 'b');
    await expect.poll(written).toEqual(['a', 'b']);
    expect(faults).toEqual([]);
    const second = await make();
    expect(ids(second)).toEqual(['a', 'b']);
    await addSynced(first, 'c');
    await expect.poll(written).toEqual(['a', 'b', 'a', 'b', 'c']);
    expect(String(faults)).toMatch(/written by somebody else, too/);
    await Promise.all([first.close(), second.close()]);
  });

  test('what a processor that was killed had settled is booked once by the next, in its own time', async () => {
    const bounds = { maxEntries: 100, maxBytes: 1_000_000 };
    const make = (clock: VirtualClock) => openJournal({ path, bounds, clock, onFault: (error) => faults.push(error) });
    const first = new Away({ journal: await make(new VirtualClock(T0)) });
    await first.goAway('refuses');
    for (const id of ['a', 'b']) {
      await first.reserve(id, charge('requests', { limit: 60 }));
      await first.settle(id, used(5, 5), { settledAtMs: T0 + 7 });
    }
    await first.journal.close();
    const second = new Away({ beside: first, journal: await make(new VirtualClock(T0)), owner: 'p2' });
    await second.pass(8_000);
    expect((await first.shared.recentEvents(9)).map((one) => [one.leaseId, one.settledAtMs]).sort()).toEqual([['a', T0 + 7], ['b', T0 + 7]]);
    expect((await first.shared.snapshot([], T0)).totals.get('acme')).toMatchObject({ requests: 2, inputTokens: 10 });
    expect(second.journal.isEmpty).toBe(true);
    await second.journal.close();
  });
});
