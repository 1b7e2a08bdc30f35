import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** What is put aside keeps its name from then on: the file's, and the time in UTC, to sort by. */
const TIME = /^\.\d{8}T\d{6}\.\d{3}Z(-\d+)?$/;

/** Puts a file aside under a name with the time, and removes the oldest of those beyond `keep`. */
export async function putAside(file: string, keep: number, nowMs: number): Promise<void> {
  await rename(file, await freeName(file, nowMs));
  const aside = await filesAside(file);
  await Promise.all(aside.slice(0, Math.max(0, aside.length - keep)).map((old) => rm(old, { force: true })));
  await syncFolder(file);
}

/** Makes names in the file's folder outlive a crash. */
export async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Those that were put aside, the oldest first. */
export async function filesAside(file: string): Promise<string[]> {
  const own = basename(file);
  const names = (await readdir(dirname(file))).filter((name) => name.startsWith(own) && TIME.test(name.slice(own.length)));
  return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).map((name) => join(dirname(file), name));
}

/** The clock may stand still, or step back: a name that is taken is never taken again. */
async function freeName(file: string, nowMs: number): Promise<string> {
  const name = `${file}.${new Date(nowMs).toISOString().replace(/[-:]/g, '')}`;
  const taken = new Set(await filesAside(file));
  for (let n = 0; ; n++) {
    const candidate = n === 0 ? name : `${name}-${n}`;
    if (!taken.has(candidate)) return candidate;
  }
}
