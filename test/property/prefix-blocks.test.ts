import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPrefixHasher } from '../../src/estimate/prefix-blocks.js';
import { anthropicMessages } from '../../src/wire/anthropic/messages.js';
import { openaiChat, openaiCompletions } from '../../src/wire/openai/openai.js';
import type { WireApi } from '../../src/domain/wire.js';
import { blank, hardText } from './json-texts.js';

const BLOCK = 64;
const hasher = await createPrefixHasher({ blockBytes: BLOCK });

function hashesOf(json: string, api: WireApi = openaiChat, model = 'm'): bigint[] {
  const blocks = hasher.begin(model);
  const parsed = api.parseRequest(Buffer.from(json), blocks);
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return [...blocks.hashes];
}

function hashesOfText(...pieces: readonly string[]): bigint[] {
  const blocks = hasher.begin('m');
  for (const piece of pieces) blocks.add(piece);
  return [...blocks.hashes];
}

/** How many blocks two prompts have in common from their start. */
function common(a: readonly bigint[], b: readonly bigint[]): number {
  const first = a.findIndex((hash, i) => hash !== b[i]);
  return first < 0 ? a.length : first;
}

type Value = string | number | null | readonly Value[] | { readonly [key: string]: Value };

/** JSON of a value in a form of the writer's own: blanks, the order of members, escapes. */
function written(value: Value, space: string, escapeEvery: number, backwards: boolean): string {
  const write = (inner: Value): string => {
    if (typeof inner === 'string') {
      let seen = 0;
      const escape = (c: string) => (c.length === 1 && escapeEvery > 0 && seen++ % escapeEvery === 0 ? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}` : c);
      return `"${[...JSON.stringify(inner).slice(1, -1).matchAll(/\\u....|\\.|[^]/gu)].map(([c]) => escape(c)).join('')}"`;
    }
    if (Array.isArray(inner)) return `[${space}${inner.map(write).join(`${space},${space}`)}${space}]`;
    if (typeof inner !== 'object' || inner === null) return JSON.stringify(inner);
    const members = Object.entries(inner).map(([key, member]) => `${JSON.stringify(key)}${space}:${space}${write(member as Value)}`);
    return `{${space}${(backwards ? members.reverse() : members).join(`,${space}`)}${space}}`;
  };
  return write(value);
}

const text = fc.oneof(hardText, fc.string({ unit: 'binary', maxLength: 200 }), hardText.map((words) => words.repeat(words.length > 1000 ? 8 : 1)));
const part = fc.oneof(
  text.map((words) => ({ type: 'text', text: words })),
  text.map((words) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.from(words).toString('base64')}` } })),
);
const message = fc.tuple(fc.constantFrom('system', 'user', 'assistant'), fc.oneof(text, fc.array(part, { maxLength: 3 }))).map(([role, content]) => ({ role, content }));
const tool = text.map((description) => ({ type: 'function', function: { name: 'f', description, parameters: { type: 'object', properties: { a: { type: 'string' } } } } }));
const request = fc.record({ messages: fc.array(message, { maxLength: 5 }), tools: fc.array(tool, { maxLength: 2 }) });

describe('prefix blocks of a prompt', () => {
  it('are the same however its JSON is written', () => {
    const form = fc.tuple(blank, fc.constantFrom(0, 1, 3), fc.boolean());
    fc.assert(
      fc.property(request, form, fc.nat(1), (body, [space, every, backwards], long) => {
        // A body of more than 32 KB is parsed in another way.
        const value = { model: 'm', ...body, metadata: { filler: 'x'.repeat(long * 40_000) } };
        expect(hashesOf(written(value, space, every, backwards))).toEqual(hashesOf(JSON.stringify({ model: 'm', ...body })));
      }),
      { numRuns: 250 },
    );
  });

  it('begin alike as long as the texts do, and never again after that', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 2000 }), fc.string({ unit: 'grapheme-ascii', maxLength: 300 }), fc.string({ unit: 'grapheme-ascii', maxLength: 300 }), (start, a, b) => {
        const [one, other] = [`${start}${a}`, `${start}${b}`];
        let same = 0;
        while (same < Math.min(one.length, other.length) && one[same] === other[same]) same++;
        const [hashes, others] = [hashesOfText(one), hashesOfText(other)];
        expect(hashes).toHaveLength(Math.floor(one.length / BLOCK));
        expect(common(hashes, others)).toBe(Math.min(hashes.length, others.length, Math.floor(same / BLOCK)));
        expect(hashes.slice(same / BLOCK).filter((hash) => others.includes(hash) && hash !== others[0])).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('do not depend on the pieces in which a text comes', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(text.filter((words) => Buffer.from(words).toString() === words), fc.nat(40_000).map((length) => '本😀a'.repeat(length / 4))), { maxLength: 6 }), (pieces) => {
        expect(hashesOfText(...pieces)).toEqual(hashesOfText(pieces.join('')));
      }),
      { numRuns: 300 },
    );
  });

  it('are those of a conversation that goes on', () => {
    fc.assert(
      fc.property(request, message, (body, next) => {
        const before = hashesOf(JSON.stringify({ model: 'm', ...body }));
        const after = hashesOf(JSON.stringify({ model: 'm', ...body, messages: [...body.messages, next] }));
        expect(after.slice(0, before.length)).toEqual(before);
      }),
      { numRuns: 300 },
    );
  });
});

describe('what makes prefix blocks differ', () => {
  const words = 'some words that fill more than one block of sixty-four bytes, and then another one as well, to be sure of that';
  const chat = (...content: Value[]) => JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] });
  const image = (data: string) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } });

  it('the model', () => {
    expect(common(hashesOf(chat(words), openaiChat, 'a'), hashesOf(chat(words), openaiChat, 'b'))).toBe(0);
  });

  it('the role, the tools and the system text before a message', () => {
    const base = { model: 'm', messages: [{ role: 'user', content: words }] };
    const hashes = hashesOf(JSON.stringify(base));
    expect(hashes.length).toBeGreaterThan(0);
    for (const other of [{ ...base, messages: [{ role: 'tool', content: words }] }, { ...base, tools: [{ name: 'f' }] }]) expect(common(hashes, hashesOf(JSON.stringify(other)))).toBe(0);
    const claude = (system: string) => JSON.stringify({ messages: base.messages, system, model: 'm' });
    expect(common(hashesOf(claude('a'), anthropicMessages), hashesOf(claude('b'), anthropicMessages))).toBe(0);
  });

  it('a picture, from its place on', () => {
    const [one, other] = [hashesOf(chat({ type: 'text', text: words }, image('AAAA'), { type: 'text', text: words })), hashesOf(chat({ type: 'text', text: words }, image('AAAB'), { type: 'text', text: words }))];
    expect(common(one, other)).toBe(1);
    expect(other).toHaveLength(one.length);
  });

  it('one token id among thousands', () => {
    const ids = (last: number) => JSON.stringify({ model: 'm', prompt: [...Array.from({ length: 10_000 }, (_, i) => i), last] });
    const [one, other] = [hashesOf(ids(11111), openaiCompletions), hashesOf(ids(22222), openaiCompletions)];
    expect(one.length - common(one, other)).toBeLessThanOrEqual(1);
    expect(hashesOf(ids(11111).replaceAll(',', ' ,\n'), openaiCompletions)).toEqual(one);
  });

  it('nothing behind the largest number of blocks', async () => {
    const blocks = (await createPrefixHasher({ blockBytes: BLOCK, maxBlocks: 3 })).begin('m');
    blocks.add('x'.repeat(100_000));
    blocks.media(Buffer.from('y'));
    expect([...blocks.hashes]).toEqual(hashesOfText('x'.repeat(3 * BLOCK)));
  });
});
