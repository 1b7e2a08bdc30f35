import { readFile, writeFile } from 'node:fs/promises';
import { configurationJsonSchema, configurationMarkdown } from './docs.js';

// Run by `npm run docs`; a test makes the same again and compares.
const root = new URL('../../', import.meta.url);
const example = await readFile(new URL('tokenweir.example.yaml', root), 'utf8');
await writeFile(new URL('docs/configuration.md', root), configurationMarkdown(example));
await writeFile(new URL('docs/configuration.schema.json', root), configurationJsonSchema());
