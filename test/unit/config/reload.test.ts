import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig, problemLines, type Config } from '../../../src/config/load.js';
import { watchConfig, type ConfigWatch } from '../../../src/config/reload.js';
import { systemClock, type Clock } from '../../../src/lib/clock.js';
import { VirtualClock } from '../../../src/lib/virtual-clock.js';

let folder = '';
let path = '';
let watching: ConfigWatch | null = null;
const told: string[] = [];
let wake: () => void = () => undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tokenweir-reload-'));
  path = join(folder, 'c.yaml');
  told.length = 0;
  await writeFile(path, 'tenants: [{ id: one }]\n');
});
afterEach(async () => {
  watching?.close();
  await rm(folder, { recursive: true });
});

async function start(clock: Clock): Promise<ConfigWatch> {
  const loaded = await loadConfig(path, {});
  if (!loaded.ok) throw new Error('the first load failed');
  const tell = (text: string): void => {
    told.push(text);
    wake();
  };
  watching = watchConfig({
    path,
    clock,
    current: loaded.config,
    env: {},
    onReload: (config: Config, warnings) => {
      tell(`${[...config.policy.tenants.keys()].join()} ${config.server.extProc} ${config.policy.maxBodyBytes} ${problemLines(warnings.filter(({ path: field }) => field.startsWith('server'))).join().replaceAll(path, 'FILE')}`.trim());
    },
    onProblem: (problems) => {
      tell(`problem ${problems.map(({ line, message }) => `${line} ${message}`).join()}`);
    },
    onWatchFault: (error) => {
      tell(`fault ${String(error)}`);
    },
  });
  return watching;
}

function nextTold(): Promise<void> {
  return new Promise((resolve) => {
    wake = resolve;
  });
}

test('reload is all or nothing: one mistake, and nothing of the file is taken', async () => {
  const watch = await start(new VirtualClock());
  await writeFile(path, 'tenants: [{ id: two }]\nenforcement: never\n');
  expect(await watch.reload()).toMatchObject({ ok: false });
  await writeFile(path, 'tenants: [{ id: two }]\n');
  expect(await watch.reload()).toMatchObject({ ok: true });
  expect(told).toEqual(['problem 2 must be one of enforce, shadow, off', 'two 127.0.0.1:9002 16777216']);
});

test('what needs a restart is warned of and stays as it was', async () => {
  const watch = await start(new VirtualClock());
  await writeFile(path, 'tenants: [{ id: two }]\nserver: { extProc: "127.0.0.1:1", maxBodyBytes: 5 }\n');
  await watch.reload();
  const ignored = 'changed in the file: this needs a restart and is ignored until then';
  expect(told).toEqual([`two 127.0.0.1:9002 16777216 FILE:2:20 server.extProc: ${ignored},FILE:2:49 server.maxBodyBytes: ${ignored}`]);
});

test('another admin token needs a restart too', async () => {
  const watch = await start(new VirtualClock());
  await writeFile(path, 'adminToken: another-token-for-admin\n');
  const result = await watch.reload();
  expect(result.ok && [result.config.adminToken, result.warnings.at(-1)]).toMatchObject([null, { line: 1, column: 13, path: 'adminToken', message: 'the admin token changed: this needs a restart and is ignored until then' }]);
});

test('another store needs a restart too', async () => {
  const watch = await start(new VirtualClock());
  await writeFile(path, 'store: redis://127.0.0.1\n');
  const result = await watch.reload();
  expect(result.ok && [result.config.store.address, result.warnings.at(-1)]).toMatchObject([{ kind: 'memory' }, { path: 'store', message: 'the store changed: this needs a restart and is ignored until then' }]);
});

test('reloads run one after the other, and none tells anything after close', async () => {
  const watch = await start(new VirtualClock());
  const both = [watch.reload(), watch.reload()];
  await Promise.all(both);
  expect(told).toHaveLength(2);
  const late = watch.reload();
  watch.close();
  await late;
  expect(told).toHaveLength(2);
});

test('a file that is renamed into place is taken, once', async () => {
  await start(systemClock);
  const change = nextTold();
  await writeFile(join(folder, 'c.yaml.tmp'), 'tenants: [{ id: three }]\n');
  await rename(join(folder, 'c.yaml.tmp'), path);
  await change;
  expect(told).toEqual(['three 127.0.0.1:9002 16777216']);
});

/** A clock that stands still and tells when a timer is set: then a file event has come. */
class EventClock extends VirtualClock {
  onTimer: () => void = () => undefined;

  override after(ms: number, fn: () => void): () => void {
    const cancel = super.after(ms, fn);
    this.onTimer();
    return cancel;
  }

  nextTimer(): Promise<void> {
    return new Promise((resolve) => {
      this.onTimer = resolve;
    });
  }
}

test('a file that is written again with the same content changes nothing', async () => {
  const clock = new EventClock();
  const watch = await start(clock);
  const event = clock.nextTimer();
  await writeFile(path, 'tenants: [{ id: one }]\n');
  await event;
  clock.advance(1000);
  await watch.reload(); // stands in line behind the look at the file
  expect(told).toEqual(['one 127.0.0.1:9002 16777216']);
});

test('a mounted volume that is swapped by its ..data link is seen', async () => {
  await rm(path);
  for (const [version, id] of [['..v1', 'old'], ['..v2', 'new']] as const) {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, 'c.yaml'), `tenants: [{ id: ${id} }]\n`);
  }
  await symlink('..v1', join(folder, '..data'));
  await symlink('..data/c.yaml', path);
  await start(systemClock);
  const change = nextTold();
  await symlink('..v2', join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  await change;
  expect(told).toEqual(['new 127.0.0.1:9002 16777216']);
});

test('a file that went away is told, and what was in force stays', async () => {
  const watch = await start(new VirtualClock());
  await rm(path);
  expect(await watch.reload()).toMatchObject({ ok: false, problems: [{ message: 'this file does not exist' }] });
  expect(told).toEqual(['problem 1 this file does not exist']);
});

test('a folder that cannot be watched is told, without an exception', async () => {
  const { config } = (await loadConfig(path, {})) as { config: Config };
  const faults: unknown[] = [];
  const none = (): void => undefined;
  const watch = watchConfig({
    path: join(folder, 'none', 'c.yaml'),
    clock: new VirtualClock(),
    current: config,
    onReload: none,
    onProblem: none,
    onWatchFault: (error) => faults.push(error),
  });
  expect(await watch.reload()).toMatchObject({ ok: false });
  watch.close();
  expect(faults).toHaveLength(1);
});
