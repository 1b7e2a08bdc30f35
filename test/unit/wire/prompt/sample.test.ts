import { describe, expect, it } from 'vitest';
import { TextCounter, type TextFeatures } from '../../../../src/lib/text-features.js';
import { openaiChat } from '../../../../src/wire/openai/openai.js';
import { PromptText, countTexts } from '../../../../src/wire/prompt/sample.js';

const TEXTS: Readonly<Record<string, (line: number) => string>> = {
  prose: (line) => `In the year ${1800 + (line % 150)} the ${['old', 'quiet', 'stubborn'][line % 3]} captain wrote "${line}" into the book, and nobody asked him why.\n`,
  code: (line) => `  if (table[${line % 17}] === 'k${line}') {\n\treturn compute(${line}, "a\\\\b");\n  }\n`,
  Japanese: (line) => `第${line}章：港に船が着いた日、誰も何も言わなかった。「材木」と彼は書いた。\n`,
  log: (line) => `2026-03-01T12:${String(line % 60).padStart(2, '0')}:07.${line % 1000}Z INFO req=${(line * 2654435761) % 2 ** 32} took ${line % 97}ms 😀\n`,
};

function document(of: (line: number) => string, length: number): string {
  let text = '';
  for (let line = 0; text.length < length; line++) text += of(line);
  return text;
}

/** The largest error of any count, as a share of all counts. */
function errorShare(found: TextFeatures, truth: TextFeatures): number {
  const total = truth.reduce((sum, count) => sum + count, 0);
  return Math.max(...truth.map((count, i) => Math.abs(found[i]! - count))) / total;
}

function featuresOf(text: string): TextFeatures {
  const counter = new TextCounter();
  counter.add(text);
  return counter.features;
}

function chat(messages: unknown, escaped = false) {
  const json = JSON.stringify({ model: 'm', messages });
  const parsed = openaiChat.parseRequest(Buffer.from(escaped ? json.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`) : json));
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.facts.prompt;
}

describe('a long text is counted by windows', () => {
  describe.each(Object.entries(TEXTS))('%s', (_, of) => {
    const text = document(of, 400_000);

    it('in one message, within 2 %', () => {
      expect(errorShare(chat([{ role: 'user', content: text }]).text, featuresOf(text))).toBeLessThan(0.02);
    });

    it('also where it is written with escapes, within 2 %', () => {
      expect(errorShare(chat([{ role: 'user', content: text }], true).text, featuresOf(text))).toBeLessThan(0.02);
    });

    it('in a thousand messages, within 3 %', () => {
      const messages = Array.from({ length: 1000 }, (__, i) => ({ role: 'user', content: text.slice(i * 400, (i + 1) * 400) }));
      expect(errorShare(chat(messages).text, featuresOf(text))).toBeLessThan(0.03);
    });
  });

  it('with its own share for each kind', () => {
    const [system, user] = [document(TEXTS['Japanese']!, 60_000), document(TEXTS['prose']!, 600_000)];
    const prompt = chat([{ role: 'system', content: system }, { role: 'user', content: user }]);
    expect(errorShare(prompt.system, featuresOf(system))).toBeLessThan(0.03);
    expect(errorShare(prompt.text, featuresOf(user))).toBeLessThan(0.02);
    expect(prompt.toolText.every((count) => count === 0)).toBe(true);
  });

  it('with texts of different kinds beside each other, within 8 %', () => {
    const mixed = Object.values(TEXTS).map((of) => document(of, 100_000)).join('');
    expect(errorShare(chat([{ role: 'user', content: mixed }]).text, featuresOf(mixed))).toBeLessThan(0.08);
  });
});

describe('a text that is not long', () => {
  it('is counted as a whole', () => {
    const text = document(TEXTS['log']!, 30_000);
    expect(chat([{ role: 'user', content: text }]).text).toEqual(featuresOf(text));
  });

  it('is counted message by message: a word does not go on in the next', () => {
    const texts = ['inter', 'national'].map((word) => {
      const one = new PromptText();
      one.add(word);
      return one;
    });
    const [inter, national] = countTexts(texts);
    expect(chat([{ content: 'inter' }, { content: 'national' }]).text).toEqual(inter!.map((count, i) => count + national![i]!));
  });
});
