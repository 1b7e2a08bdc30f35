import { readFileSync } from 'node:fs';

/** The version in package.json, which ships beside the program. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
