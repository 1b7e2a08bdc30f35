import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LedgerSink } from '../../../src/domain/ledger.js';
import { filesAside } from '../../../src/ledger/rotation.js';
import { eventLine, jsonLinesSink, type JsonLinesOptions } from '../../../src/ledger/json-lines.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';
import { stored, storedRange } from './events.js';

const clock = new VirtualClock(Date.UTC(2026, 10, 29, 23, 59, 58));
const sinks: LedgerSink[] = [];
let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tokenweir-ledger-'));
  file = join(folder, 'usage.jsonl');
});
afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  rmSync(folder, { recursive: true });
});

const MANY = 1_000_000;
/** A sink, as a process has one; where the test does not close it, the process died. */
function ledger(options: Partial<JsonLinesOptions> = {}): LedgerSink {
  const sink = jsonLinesSink({ file, maxBytes: MANY, keep: 2, clock, ...options });
  sinks.push(sink);
  return sink;
}
const text = (path = file): string => readFileSync(path, 'utf8');
/** Lease ids of the lines that parse. */
function leasesIn(path = file): string[] {
  return text(path).split('\n').flatMap((line) => {
    try {
      return [(JSON.parse(line) as { leaseId: string }).leaseId];
    } catch {
      return [];
    }
  });
}

describe('ledger file (issue point 5)', () => {
  it('holds one line an event, with a key that tells the same event delivered twice, for its owner’s eyes only', async () => {
    const sink = ledger();
    const correction = stored(2, { corrects: true, outputTokens: -3 });
    await sink.write([stored(1), correction]);
    await sink.write([correction]);
    await sink.close();
    const lines = text().trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ key }) => key)).toEqual(['lease-1:usage:1-0', 'lease-2:correction:2-0', 'lease-2:correction:2-0']);
    expect(lines[1]).toMatchObject({ kind: 'correction', rootId: 'org', id: '2-0', leaseId: 'lease-2', tenantId: 'acme', outputTokens: -3, corrects: true });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('outlives a restart: what is there stays, and a line that a crash cut is ended so that it harms no other', async () => {
    await ledger().write([stored(1)]);
    appendFileSync(file, eventLine(stored(2)).slice(0, 40));
    const cut = text();
    const sink = ledger();
    await sink.write([stored(2), stored(3)]);
    await sink.close();
    expect(text().startsWith(`${cut}\n`)).toBe(true);
    expect(leasesIn()).toEqual(['lease-1', 'lease-2', 'lease-3']);
    await ledger().write([stored(4)]);
    expect(text().split('\n')).toHaveLength(6);
  });

  it('is put aside when it is full under a name that it keeps, divides no batch, and keeps as many as configured', async () => {
    const maxBytes = 2 * eventLine(stored(10)).length;
    const sink = ledger({ maxBytes });
    for (let n = 10; n < 17; n++) {
      await sink.write([stored(n)]);
      clock.advance(500);
    }
    const [older, newer, ...more] = await filesAside(file);
    expect(more).toEqual([]);
    expect(older).toMatch(/usage\.jsonl\.202611(29|30)T\d{6}\.\d{3}Z$/);
    expect([leasesIn(older), leasesIn(newer), leasesIn()]).toEqual([['lease-12', 'lease-13'], ['lease-14', 'lease-15'], ['lease-16']]);
    await sink.write(storedRange(20, 25));
    expect(leasesIn()).toHaveLength(5);
  });

  it('goes on by its size after a restart, and with keep 0 keeps no other', async () => {
    const maxBytes = eventLine(stored(10)).length;
    await ledger({ maxBytes, keep: 0 }).write([stored(10)]);
    await ledger({ maxBytes, keep: 0 }).write([stored(11)]);
    expect(readdirSync(folder)).toEqual(['usage.jsonl']);
    expect(leasesIn()).toEqual(['lease-11']);
  });

  it('loses none where the clock stands still or steps back, and touches no file that is not its own', async () => {
    const strangers = ['usage.jsonl.1', 'usage.jsonl.20261129T000000.000Z.gz', 'other.jsonl.20200101T000000.000Z', 'usage.jsonl.bak'];
    for (const name of strangers) writeFileSync(join(folder, name), '');
    const sink = ledger({ maxBytes: 10, keep: 12 });
    for (let n = 0; n < 13; n++) await sink.write([stored(n)]);
    const aside = await filesAside(file);
    expect(aside.flatMap(leasesIn)).toEqual(storedRange(0, 12).map(({ event }) => event.leaseId));
    await sink.write([stored(13)]);
    expect((await filesAside(file)).flatMap(leasesIn)).toEqual(storedRange(1, 13).map(({ event }) => event.leaseId));
    expect(readdirSync(folder).filter((name) => strangers.includes(name))).toHaveLength(strangers.length);
  });

  it('begins a new file where somebody took the old one away', async () => {
    const sink = ledger();
    await sink.write([stored(1)]);
    renameSync(file, `${file}.old`);
    await sink.write([stored(2)]);
    await sink.close();
    expect([leasesIn(`${file}.old`), leasesIn()]).toEqual([['lease-1'], ['lease-2']]);
  });

  it('rejects what it can’t keep, and goes on when it can', async () => {
    const below = join(folder, 'later', 'usage.jsonl');
    const sink = ledger({ file: below, maxBytes: MANY, keep: 2 });
    await expect(sink.write([stored(1)])).rejects.toThrow('ENOENT');
    mkdirSync(join(folder, 'later'));
    await sink.write([stored(1)]);
    await sink.close();
    await sink.close();
    expect(leasesIn(below)).toEqual(['lease-1']);
  });

  it('writes in order what is written at one time', async () => {
    const sink = ledger();
    await Promise.all([sink.write(storedRange(0, 500)), sink.write(storedRange(500, 600)), sink.close(), sink.write(storedRange(600, 601))]);
    expect(leasesIn()).toEqual(storedRange(0, 601).map(({ event }) => event.leaseId));
    await sink.close();
  });
});
