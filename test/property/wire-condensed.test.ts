import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PromptContent } from '../../src/domain/request.js';
import { isObject, listOf, parseBody, type Json, type JsonObject, type ParsedBody } from '../../src/wire/json/json.js';
import { LongText, type Texts } from '../../src/wire/json/texts.js';
import { openaiChat, openaiCompletions } from '../../src/wire/openai/openai.js';
import { PromptCollector } from '../../src/wire/prompt/collector.js';
import { blank, hardText, numbers, quoted } from './json-texts.js';

const text = quoted(hardText);
const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, text, text, numbers, fc.constantFrom('1', '-2.5e3', 'true', 'null'), list(tie('value')), tie('object')),
  object: objectOf(fc.tuple(quoted(fc.oneof(hardText, fc.string(), fc.constantFrom('text', 'input', 'data', '__proto__'))), tie('value'))),
}));

function list(item: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(fc.array(item, { maxLength: 3 }), blank).map(([items, space]) => `[${space}${items.join(`${space},`)}${space}]`);
}

function objectOf(member: fc.Arbitrary<[string, string]>): fc.Arbitrary<string> {
  return fc.tuple(fc.array(member, { maxLength: 4 }), blank, blank).map(([members, a, b]) => `{${a}${members.map(([name, json]) => `${name}${b}:${a}${json}`).join(`${a},${b}`)}${b}}`);
}

const block = fc.oneof(
  value,
  text.map((json) => `{"type":"text","text":${json}}`),
  fc.tuple(text, text).map(([a, b]) => `{"type":"tool_use","id":${a},"name":${b},"input":{"x":${a},"y":[${b}]}}`),
  fc.constantFrom('A', 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAgCAYAAAAf8', '\\/9j\\/').chain((base64) => fc.constantFrom(1, 30, 300).map((times) => `{"type":"image_url","image_url":{"detail":"low","url":"data:image\\/png;base64,${base64.repeat(times)}"}}`)),
);
const message = fc.tuple(fc.constantFrom('system', 'user', 'tool'), fc.oneof(text, list(block))).map(([role, content]) => `{"role":"${role}","content":${content}}`);

const body = fc.tuple(list(message), list(value), value, fc.oneof(numbers, list(text))).map(
  ([messages, tools, schema, prompt]) => `{"model":"m","messages":${messages},"tools":${tools},"schema":${schema},"system":${schema},"prompt":${prompt}}`,
);

function opened(parsed: ParsedBody): { value: JsonObject; texts: Texts } {
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed;
}

/** The parsed value with what its marks stand for in their places. */
function whole(json: Json, texts: Texts): Json {
  if (typeof json === 'string') {
    const long = texts.find(json);
    if (long === null) return json;
    return long instanceof LongText ? long.text() : (JSON.parse(long.text()) as Json);
  }
  if (Array.isArray(json)) return json.map((item) => whole(item, texts));
  return isObject(json) ? Object.fromEntries(Object.entries(json).map(([key, member]) => [key, whole(member, texts)])) : json;
}

function contentOf({ value: json, texts }: { value: JsonObject; texts: Texts }): PromptContent {
  const prompt = new PromptCollector(undefined, texts);
  for (const one of listOf(json['messages'])) if (isObject(one)) prompt.message(one);
  prompt.tools(json['tools']);
  prompt.schema(json['schema']);
  prompt.system(json['system']);
  if (!prompt.tokenPrompt(json['prompt'])) for (const item of listOf(json['prompt'])) if (typeof item === 'string') prompt.text(item);
  return prompt.content;
}

describe('a body of which the long texts are not parsed', () => {
  it('holds what JSON.parse finds', () => {
    fc.assert(
      fc.property(body, (json) => {
        const { value: condensed, texts } = opened(parseBody(Buffer.from(json), 0));
        expect(whole(condensed, texts)).toEqual(opened(parseBody(Buffer.from(json), Infinity)).value);
      }),
      { numRuns: 1000 },
    );
  });

  it('has the same texts, media and token ids', () => {
    fc.assert(
      fc.property(body, (json) => {
        // Longer texts are counted by windows, which are not those of the decoded text.
        fc.pre(Buffer.byteLength(json) < 32 * 1024);
        const [condensed, full] = [0, Infinity].map((above) => contentOf(opened(parseBody(Buffer.from(json), above))));
        expect({ ...condensed, media: condensed!.media.map(({ kind }) => kind) }).toEqual({ ...full, media: full!.media.map(({ kind }) => kind) });
        // Escapes in base64 count as bytes of it where it is not parsed.
        for (const [i, media] of full!.media.entries()) {
          expect(condensed!.media[i]).toMatchObject({ widthPx: media.widthPx, heightPx: media.heightPx, detail: media.detail });
          expect(condensed!.media[i]!.bytes).toBeGreaterThanOrEqual(media.bytes ?? 0);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a body of any bytes', () => {
  const base = fc.oneof(body, fc.constant(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'word '.repeat(9000) }] })));
  const mutated = fc.tuple(base, fc.array(fc.tuple(fc.nat(1_000_000), fc.oneof(fc.nat(255), fc.constantFrom(0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d, 0x2c, 0x7f)), fc.boolean()), { maxLength: 8 })).map(([json, changes]) => {
    let bytes = Buffer.from(json);
    for (const [at, byte, cut] of changes) {
      const index = at % bytes.length;
      if (cut) bytes = Buffer.concat([bytes.subarray(0, index), bytes.subarray(index + 1 + (byte % 3))]);
      if (index < bytes.length) bytes[index] = byte;
      if (bytes.length === 0) return bytes;
    }
    return bytes;
  });

  it('never makes a parser throw, and no count is negative or endless', () => {
    fc.assert(
      fc.property(mutated, (bytes) => {
        for (const api of [openaiChat, openaiCompletions]) {
          const parsed = api.parseRequest(bytes);
          if (!parsed.ok) continue;
          const { system, text: words, toolText, schema } = parsed.facts.prompt;
          for (const counts of [system, words, toolText, schema]) expect(counts.every((count) => Number.isFinite(count) && count >= 0)).toBe(true);
        }
        const condensed = parseBody(bytes, 0);
        if (condensed.ok) contentOf(condensed);
      }),
      { numRuns: 2000 },
    );
  });

  it('is taken whenever JSON.parse takes it, and refused for the same where it is', () => {
    fc.assert(
      fc.property(mutated, (bytes) => {
        const full = parseBody(bytes, Infinity);
        const condensed = parseBody(bytes, 0);
        if (full.ok) expect(whole(opened(condensed).value, opened(condensed).texts)).toEqual(full.value);
        else if (condensed.ok) expect(full.fault.kind).toBe('invalid_json');
        else expect(condensed.fault).toEqual(full.fault);
      }),
      { numRuns: 1000 },
    );
  });
});
