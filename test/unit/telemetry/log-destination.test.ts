import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.js';
import { fdDestination } from '../../../src/telemetry/log-destination.js';
import { Log } from '../../../src/telemetry/log.js';
import { record } from './records.js';

const folder = mkdtempSync(join(tmpdir(), 'tokenweir-log-'));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function logTo(path: string) {
  const fd = openSync(path, 'a');
  return { fd, log: new Log({ level: 'info', clock: systemClock, destination: fdDestination(systemClock, fd) }) };
}

describe('log destination', () => {
  it('has written every line, whole and in order, when it is closed', async () => {
    const path = join(folder, 'lines.log');
    const { log, fd } = logTo(path);
    for (let i = 0; i < 5_000; i++) log.request(record({ requestId: `r${i}` }));
    await log.close();
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { requestId: string }).requestId)).toEqual(Array.from({ length: 5_000 }, (_, i) => `r${i}`));
    closeSync(fd);
  });

  it.skipIf(!existsSync('/dev/full'))('survives a full disk, and closes in time', async () => {
    const { log, fd } = logTo('/dev/full');
    for (let i = 0; i < 5_000; i++) log.request(record());
    const startMs = performance.now();
    await log.close();
    log.request(record());
    await log.close();
    expect(performance.now() - startMs).toBeLessThan(5_000);
    closeSync(fd);
  });
});
