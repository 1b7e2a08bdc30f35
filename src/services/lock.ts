import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 250;

/**
 * Runs `work` while no other process on this machine holds the lock of that path. The lock of a process that died is
 * taken over. `waiting` is told once if another holds it.
 */
export async function withLock<T>(path: string, waiting: (pid: number) => void, work: () => Promise<T>): Promise<T> {
  let told = false;
  while (!(await tryLock(path))) {
    const pid = await holder(path);
    if (pid === null) continue;
    if (!isAlive(pid)) {
      await breakLock(path, pid);
      continue;
    }
    if (!told) waiting(pid);
    told = true;
    await delay(POLL_MS);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

/** A link either exists whole or not at all: no reader sees a lock without its process id. */
async function tryLock(path: string): Promise<boolean> {
  const own = uniqueName(path);
  await writeFile(own, `${process.pid}\n`);
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

async function holder(path: string): Promise<number | null> {
  try {
    return Number(await readFile(path, 'utf8'));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Moves a dead process's lock away; gives it back if, meanwhile, it had become somebody else's. */
async function breakLock(path: string, deadPid: number): Promise<void> {
  const aside = uniqueName(path);
  try {
    await rename(path, aside);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return;
    throw error;
  }
  if ((await holder(aside)) !== deadPid) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

let names = 0;

function uniqueName(path: string): string {
  return `${path}.${process.pid}.${names++}`;
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
