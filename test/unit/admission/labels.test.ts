import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_LABEL_LENGTH, requestLabels } from '../../../src/admission/labels.js';

const NOTHING = { session: null, work: null };
const labels = (headers: Record<string, string>, facts: Parameters<typeof requestLabels>[1] = NOTHING) => requestLabels(new Map(Object.entries(headers)), facts);

describe('labels of a request (point 2)', () => {
  it('the session: our header, LiteLLM’s, a vendor’s, the plain ones, then the body', () => {
    const all: [string, string][] = [
      ['x-tokenweir-session', 'ours'], ['x-litellm-trace-id', 'trace'], ['x-litellm-session-id', 'litellm'], ['x-claude-code-session-id', 'vendor'],
      ['x-session-id', 'plain'], ['session-id', 'bare'],
    ];
    for (let i = 0; i <= all.length; i++) {
      // In any order: how headers come must not matter.
      const rest = Object.fromEntries(all.slice(i).reverse());
      expect(labels(rest, { session: 'body', work: null }).session).toBe(all[i]?.[1] ?? 'body');
    }
    expect(labels({}).session).toBeNull();
  });

  it('an empty or unprintable name is none', () => {
    expect(labels({ 'x-tokenweir-session': ' ', 'x-litellm-trace-id': '\u0000\u202e', 'x-session-id': 'a\nb' }).session).toBe('ab');
    expect(labels({ 'idempotency-key': '' }).mergeKey).toBeNull();
  });

  it('merge key and number of the retry', () => {
    expect(labels({ 'idempotency-key': 'k1', 'x-stainless-retry-count': '2' })).toMatchObject({ mergeKey: 'k1', retry: 2 });
    for (const odd of ['-1', '1e3', 'many', '', '99999']) expect(labels({ 'x-stainless-retry-count': odd }).retry).toBeNull();
    expect(labels({ 'x-stainless-retry-count': '9999' }).retry).toBe(1000);
  });

  it('the kind of work: the header, then the body, else somebody waits', () => {
    expect(labels({}).work).toBe('interactive');
    expect(labels({}, { session: null, work: 'background' }).work).toBe('background');
    expect(labels({ 'x-tokenweir-work': ' Interactive' }, { session: null, work: 'background' }).work).toBe('interactive');
    expect(labels({ 'x-tokenweir-work': 'backgruond' }, { session: null, work: 'background' }).work).toBe('background');
    expect(labels({ 'x-tokenweir-work': 'background' }).work).toBe('background');
  });

  it('stays short and printable whatever a client sends', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (text) => {
        for (const { session, mergeKey } of [labels({ 'x-session-id': text, 'idempotency-key': text }), labels({}, { session: text, work: null })]) {
          for (const label of [session, mergeKey]) {
            expect((label ?? '').length).toBeLessThanOrEqual(MAX_LABEL_LENGTH);
            expect(label ?? '').not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
            expect(label).not.toBe('');
          }
        }
      }),
    );
  });
});
