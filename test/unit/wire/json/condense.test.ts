import { describe, expect, it } from 'vitest';
import { parseBody } from '../../../../src/wire/json/json.js';
import { LongText, NumberList } from '../../../../src/wire/json/texts.js';
import { openaiChat, openaiCompletions } from '../../../../src/wire/openai/openai.js';

const LONG = 'word '.repeat(8000);

function opened(json: string) {
  const parsed = parseBody(Buffer.from(json), 0);
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed;
}

function faultOf(json: string, api = openaiChat) {
  const parsed = api.parseRequest(Buffer.from(json));
  return parsed.ok ? null : parsed.fault;
}

const body = (members: string) => `{"messages":[{"role":"user","content":"${LONG}"}],${members}}`;

describe('a long body', () => {
  it('keeps short strings, long keys and short lists of numbers as they are', () => {
    const key = 'k'.repeat(2000);
    const { value } = opened(`{"a":"${'x'.repeat(500)}","${key}":1,"b":[1,2,3],"c":"${'x'.repeat(513)}"}`);
    expect(value).toMatchObject({ a: 'x'.repeat(500), [key]: 1, b: [1, 2, 3] });
    expect(value['c']).not.toBe('x'.repeat(513));
  });

  it('knows where its long strings and lists are', () => {
    const ids = Array.from({ length: 100 }, (_, i) => i);
    const { value, texts } = opened(`{"a":"${LONG}", "b" : [ ${ids.join(' , ')} ] }`);
    const [text, list] = ['a', 'b'].map((key) => texts.find(value[key] as string));
    expect(text).toBeInstanceOf(LongText);
    expect(text?.text()).toBe(LONG);
    expect(list).toBeInstanceOf(NumberList);
    expect(JSON.parse(list?.text() ?? '')).toEqual(ids);
  });

  it.each(['"\u007f0"', '"\\u007f0"', '"\\u007F0"'])('cannot be made to repeat a text by a forged mark: %s', (forged) => {
    const { value, texts } = opened(`{"a":"${LONG}","b":${forged}}`);
    expect(texts.find(value['b'] as string)?.text()).toBe('\u007f0');
  });

  it('has no name longer than its parser would take', () => {
    expect(faultOf(body(`"model":"${'m'.repeat(600)}"`))).toMatchObject({ kind: 'out_of_range', field: 'model' });
    const parsed = openaiChat.parseRequest(Buffer.from(body(`"model":"m","metadata":{"session_id":"${'s'.repeat(600)}"}`)));
    expect(parsed).toMatchObject({ ok: true, facts: { session: null } });
  });

  it('counts token ids by their number, however they are written and nested', () => {
    const list = (count: number) => `[${Array.from({ length: count }, (_, i) => i).join(', ')}]`;
    const ids = (json: string) => {
      const parsed = openaiCompletions.parseRequest(Buffer.from(`{"model":"m","prompt":${json}}`));
      return parsed.ok ? [parsed.facts.prompt.tokenIds, parsed.facts.choices] : parsed.fault.field;
    };
    expect(ids(list(20_000))).toEqual([20_000, 1]);
    expect(ids(`[${list(3)},${list(15_000)},${list(17)}]`)).toEqual([15_020, 3]);
    expect(ids(`["${LONG}",${list(5)}]`)).toEqual([5, 2]);
    expect(ids(`[${list(15_000)},{}]`)).toBe('prompt');
  });

  it('takes millions of numbers, for they are not parsed', () => {
    expect(openaiCompletions.parseRequest(Buffer.from(`{"model":"m","prompt":[${'1,'.repeat(1_000_000)}1]}`))).toMatchObject({ ok: true, facts: { prompt: { tokenIds: 1_000_001 } } });
  });

  it.each([
    ['tiny strings', `"x":[${'"a",'.repeat(500_000)}"a"]`],
    ['tiny numbers among words', `"x":[${'1,true,'.repeat(200_000)}1]`],
    ['members of ever new names', Array.from({ length: 11_000 }, (_, i) => `"k${i}":1`).join(',')],
    ['objects of ever new names', `"x":[${Array.from({ length: 11_000 }, (_, i) => `{"k${i}":1}`).join(',')}]`],
    ['objects of the same names in ever new orders', `"x":[${Array.from({ length: 8000 }, (_, i) => `{"a${i % 61}":1,"b${i % 67}":1,"c${i % 71}":1}`).join(',')}]`],
  ])('is refused for what a parser is slow at: %s', (_, members) => {
    expect(faultOf(body(`"model":"m",${members}`))).toMatchObject({ kind: 'too_many', field: null });
  });

  it('is taken with thousands of objects of the same names', () => {
    const calls = Array.from({ length: 9000 }, (_, i) => `{"role":"user","name":"n","content":"${i}"}`).join(',');
    expect(faultOf(`{"model":"m","messages":[${calls}]}`)).toBeNull();
  });

  it.each([
    ['an unclosed string', `{"model":"m","messages":[{"content":"${LONG}`],
    ['an unclosed string that ends in an escape', `{"model":"m","messages":[{"content":"${LONG}\\"`],
    ['a missing comma', `{"model":"m","messages":[{"content":"${LONG}" "a":1}]}`],
    ['more behind its end', `{"model":"m","messages":[{"content":"${LONG}"}]}"${LONG}"`],
    ['a list as a key', `{"model":"m","messages":[{[${'1,'.repeat(50)}1]:"${LONG}"}]}`],
  ])('is refused for %s', (_, json) => {
    expect(faultOf(json)).toMatchObject({ kind: 'invalid_json' });
  });
});
