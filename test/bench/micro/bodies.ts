import { createEstimator } from '../../../src/estimate/estimator.js';
import { createPrefixHasher } from '../../../src/estimate/prefix-blocks.js';
import { openaiChat, openaiCompletions } from '../../../src/wire/openai/openai.js';
import type { WireApi } from '../../../src/domain/wire.js';
import type { Figure } from './figure.js';

const MB = 1024 * 1024;
const PROSE =
  'When the ship came in, nobody on the quay would say what she carried; the harbour master, an old man of 71, wrote "timber" into his book and went home.\n' +
  'It was the third time that year (1893) that a vessel had come without papers. “We shall see,” he told his wife, who had asked him nothing at all.\n\n';

const estimator = createEstimator();

function request(content: unknown): Buffer {
  return Buffer.from(JSON.stringify({ model: 'gpt-5', messages: content, max_tokens: 500, stream: true }));
}

function text(length: number): string {
  return PROSE.repeat(Math.ceil(length / PROSE.length)).slice(0, length);
}

function documentOf(bytes: number): Buffer {
  return request([{ role: 'system', content: 'Be brief.' }, { role: 'user', content: text(bytes) }]);
}

function conversationOf(bytes: number, messages: number): Buffer {
  const content = text(Math.floor(bytes / messages) - 60);
  return request(Array.from({ length: messages }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: `${i} ${content}` })));
}

/** A body of 2 MB: `unit` over and over between `start` and `end`. */
function filled(start: string, unit: string | ((index: number) => string), end: string, bytes = 2 * MB): Buffer {
  const parts: string[] = [];
  for (let length = 0; length < bytes; length += parts[parts.length - 1]!.length) parts.push(typeof unit === 'string' ? unit : unit(parts.length));
  return Buffer.from(start + parts.join('') + end);
}

const CHAT = '{"model":"m","messages":[{"role":"user","content":';
const inContent = (unit: string | ((index: number) => string)) => filled(`${CHAT}"`, unit, '"}]}');
const inMessages = (unit: string | ((index: number) => string)) => filled('{"model":"m","messages":[', unit, '{"role":"user","content":""}]}');
const inList = (unit: string | ((index: number) => string), last: string) => filled(`${CHAT}[`, unit, `${last}]}]}`);
const inTools = (unit: string | ((index: number) => string), last: string, bytes = 2 * MB) => filled('{"model":"m","messages":[],"tools":[', unit, `${last}]}`, bytes);
const inObject = (unit: string | ((index: number) => string), bytes = 2 * MB) => filled('{"model":"m","messages":[],', unit, '"z":1}', bytes);

/** Bodies that are dear to read for their size; all of 2 MB unless they are refused above a smaller one. */
const HOSTILE: Readonly<Record<string, Buffer>> = {
  'a run of one character': inContent('a'),
  'all \\u escapes': inContent('\\u3042'),
  'all escaped quotes': inContent('\\"'),
  'an escaped quote every 17 bytes': inContent('0123456789abcde\\"'),
  'all backslashes': inContent('\\\\'),
  'wrong escapes': inContent('\\x'),
  'line ends': inContent('\\n'),
  'four-byte characters': inContent('😀'),
  'opening brackets': filled('', '[', ''),
  'nesting of 100 levels': inList(`${'['.repeat(90)}${']'.repeat(90)},`, '1'),
  'opening quotes': filled(CHAT, '"', ''),
  colons: filled('{"a"', ':', ''),
  blanks: filled('{', ' ', '"model":"m","messages":[]}'),
  'a number of 2 MB': filled(`${CHAT}`, '1', '}]}'),
  'numbers of 100 digits': inList(`${'1'.repeat(100)},`, '1'),
  'numbers of 100 digits as members': inObject((i) => `"k${i % 50}":${'1'.repeat(100)},`),
  '100,000 tiny messages': inMessages('{"role":"user","content":"a"},'),
  'as many tiny messages as are taken': filled('{"model":"m","messages":[', '{"role":"user","content":"a"},', '{"role":"user","content":""}]}', 30 * 19_900),
  'tiny strings': inList('"a",', '"a"'),
  'as many tiny strings as are taken': filled(`${CHAT}[`, (i) => `"${i}",`, '"a"]}]}', 465_000),
  'as many tools as are taken': inTools((i) => `{"name":"f${i}","parameters":{"type":"object"}},`, '{}', 690_000),
  'strings of 500 bytes': inList(`"${'a'.repeat(500)}",`, '"a"'),
  'strings of 520 bytes': inList(`"${'a'.repeat(520)}",`, '"a"'),
  'tools with strings of 520 bytes': inTools(`{"a":"${'a'.repeat(520)}"},`, '{}'),
  'lists of 15 numbers': inList(`[${'1,'.repeat(14)}1],`, '[]'),
  'lists of 16 numbers': inList(`[${'1,'.repeat(15)}1],`, '[]'),
  'a list of numbers': inList('1,', '1'),
  'a list of numbers and a word': inList('1,', 'true'),
  'many distinct keys': inObject((i) => `"k${i}":1,`),
  'as many distinct keys as are taken': inObject((i) => `"k${i}":1,`, 98_000),
  'objects of distinct keys': inMessages((i) => `{"k${i}":1},`),
  'objects of keys in many orders': inMessages((i) => `{"k${i % 97}":1,"k${(i * 7) % 101}":1,"k${(i * 31) % 103}":1},`),
  'as many members of known names as are taken': filled('{"model":"m","messages":[', (i) => `{"a":1,"b":2,"c":${i}},`, '{}]}', 330_000),
  'long keys': inObject((i) => `"${'k'.repeat(500)}${i}":1,`),
  'one long key': filled('{"', 'k', '":1,"model":"m","messages":[]}'),
  'marks of our own': inList('"\\u007ft1",', '"a"'),
  'types of unknown kinds': inList('{"type":"x_y_z"},', '1'),
  'a picture': filled(`${CHAT}[{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/`, '/9j/', '"}}]}]}'),
  'an escaped data URL': filled(`${CHAT}[{"type":"image_url","image_url":{"url":"\\u0064ata:image\\/png;base64,`, '\\/', '"}}]}]}'),
  'as many small pictures as are taken': filled(`${CHAT}[`, '{"type":"image_url","image_url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9h"},', '1]}]}', 1_900_000),
  'many pictures of long headers': inList(`{"type":"image_url","image_url":"data:image/jpeg;base64,${'/9j/'.repeat(130)}"},`, '1'),
};

const TOKEN_IDS = filled('{"model":"m","prompt":[', (i) => `${(i * 7919) % 100_000},`, '1]}');

function estimate(body: Buffer, api: WireApi = openaiChat): void {
  const parsed = api.parseRequest(body);
  if (parsed.ok) estimator.prompt('tenant', parsed.facts);
}

/** Time of one call, in milliseconds: what is short is measured `calls` times at once. */
function milliseconds(name: string, target: number, calls: number, once: () => void): Figure {
  const run = () => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) once();
    return (performance.now() - start) / calls;
  };
  return { name, unit: 'ms', target, run };
}

const hasher = await createPrefixHasher();
const [small, large, conversation] = [documentOf(8 * 1024), documentOf(MB), conversationOf(MB, 1000)];
const blocksOf = (body: Buffer) => openaiChat.parseRequest(body, hasher.begin('gpt-5'));

/** Reading a request: facts and estimate of ordinary and of hostile bodies, and the prefix blocks of a large one. */
export const figures: readonly Figure[] = [
  milliseconds('request: estimate, 8 KB', 0.2, 200, () => { estimate(small); }),
  milliseconds('request: estimate, 1 MB in one document', 0.2, 50, () => { estimate(large); }),
  milliseconds('request: estimate, 1 MB in 1,000 messages', 0.2, 50, () => { estimate(conversation); }),
  milliseconds('request: estimate and prefix blocks, 1 MB in one document', 5, 10, () => { blocksOf(large); }),
  milliseconds('request: estimate and prefix blocks, 1 MB in 1,000 messages', 5, 10, () => { blocksOf(conversation); }),
  ...Object.entries(HOSTILE).map(([name, body]) => milliseconds(`hostile: ${name} (${(body.length / MB).toFixed(1)} MB)`, 20, 1, () => { estimate(body); })),
  milliseconds('hostile: token ids (2.0 MB)', 20, 1, () => { estimate(TOKEN_IDS, openaiCompletions); }),
];
