import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Puts a file aside as `<file>.1`, the one before as `.2`, and so on; beyond `keep` the oldest is removed. What a crash in the middle of an
 * earlier rotation left is respected: only what stands in the way moves.
 */
export async function putAside(file: string, keep: number): Promise<void> {
  if (keep === 0) await rm(file, { force: true });
  else {
    for (let place = await firstFree(file, keep); place > 0; place--) await rename(nameAt(file, place - 1), nameAt(file, place));
  }
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

/** The first place that nobody has, or the last one, whose file gives way. */
async function firstFree(file: string, keep: number): Promise<number> {
  for (let place = 1; place < keep; place++) if (!(await exists(nameAt(file, place)))) return place;
  return keep;
}

function nameAt(file: string, place: number): string {
  return place === 0 ? file : `${file}.${place}`;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
