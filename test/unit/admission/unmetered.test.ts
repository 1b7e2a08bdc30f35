import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../src/admission/exchange.js';
import type { RequestHead } from '../../../src/admission/head.js';
import { harness, policyOf, tenant } from '../../support/harness.js';
import { UNMETERED } from '../../support/policies.js';

function head(more: Partial<Omit<RequestHead, 'headers'>> & { headers?: Record<string, string> } = {}): RequestHead {
  return {
    method: 'POST', path: '/v1/batches', endOfStream: false, stage: 'front', externalId: null, metadata: () => undefined, ...more,
    headers: new Map(Object.entries(more.headers ?? { authorization: 'Bearer key-a' })),
  };
}

const begin = (h: ReturnType<typeof harness>, more: Parameters<typeof head>[0] = {}) => new Exchange(h.admission, head(more)).begin();
const ALL = Object.keys(UNMETERED) as (keyof typeof UNMETERED)[];
const PATHS: Record<(typeof ALL)[number], string> = {
  count_tokens: '/v1/messages/count_tokens', realtime: '/v1/realtime/calls', batches: '/v1/batches', files: '/v1/files', media: '/v1/images/generations',
  assistants: '/v1/threads/t/runs', fine_tuning: '/v1/fine_tuning/jobs', moderations: '/v1/moderations', pass_through: '/cohere/v9/x', other: '/v1/complete',
};

describe('requests that can’t be metered (no unmetered holes)', () => {
  it.each(ALL)('%s is refused with 403 naming the setting, or passes with a metric of its kind, as configured', (kind) => {
    const shut = harness(policyOf([tenant('a')], { unmetered: { ...UNMETERED, [kind]: 'reject' } }));
    const refused = begin(shut, { path: PATHS[kind] });
    expect(refused).toMatchObject({ kind: 'answer', answer: { status: 403, body: expect.stringMatching(/setting `unmetered\.\w+`/) as string } });
    expect(shut.witness.records).toMatchObject([{ decision: 'refused', reason: 'not_metered' }]);
    const open = harness(policyOf([tenant('a')], { unmetered: { ...UNMETERED, [kind]: 'pass' }, unknownPaths: 'reject' }));
    expect(begin(open, { path: PATHS[kind] }).kind).toBe('pass');
    expect(open.witness.passed).toEqual([kind]);
  });

  it('in shadow they pass, and what would have been refused is recorded', () => {
    const h = harness(policyOf([tenant('a')], { enforcement: 'shadow' }));
    const exchange = new Exchange(h.admission, head());
    expect(exchange.begin().kind).toBe('pass');
    exchange.close();
    expect(h.witness.passed).toEqual(['batches']);
    expect(h.witness.records).toMatchObject([{ decision: 'would_refuse', reason: 'not_metered' }]);
  });

  it.each([['GET', '/v1/responses'], ['GET', '/v1/chat/completions'], ['POST', '/v1/messages'], ['CONNECT', '/v1/files']])(
    'an upgrade by %s on the path of an API (%s) is realtime, whatever the path is otherwise',
    (method, path) => {
      const h = harness(policyOf([tenant('a')]));
      const headers: Record<string, string> = { authorization: 'Bearer key-a', ...(method === 'CONNECT' ? {} : { upgrade: 'websocket' }) };
      expect(begin(h, { method, path, headers })).toMatchObject({ kind: 'answer', answer: { status: 403 } });
    },
  );

  it('GET and DELETE of what is not metered pass: they do no work', () => {
    const h = harness(policyOf([tenant('a')]));
    for (const path of Object.values(PATHS)) expect(begin(h, { method: 'GET', path }).kind).toBe('pass');
    expect(new Set(h.witness.passed)).toEqual(new Set(['method']));
    expect(begin(h, { method: 'DELETE', path: '/v1/batches/b1' }).kind).toBe('pass');
    expect(h.witness.passed.at(-1)).toBe('batches');
    expect(begin(h, { method: 'DELETE', path: '/v1/realtime', headers: { authorization: 'Bearer key-a', upgrade: 'websocket' } }).kind).toBe('answer');
  });

  it('counting tokens needs a key wherever metered requests do; what else passes is for the gateway behind to judge, where there is one', () => {
    const h = harness(policyOf([tenant('a')], { unmetered: { ...UNMETERED, pass_through: 'pass' } }));
    expect(begin(h, { path: PATHS.count_tokens, headers: {} })).toMatchObject({ answer: { status: 401 } });
    for (const path of [PATHS.pass_through, PATHS.files]) {
      expect(begin(h, { path, headers: {} }).kind).toBe('pass');
      expect(begin(h, { path, headers: {}, stage: 'both' })).toMatchObject({ answer: { status: 401 } });
    }
    expect(begin(h, { path: PATHS.batches, headers: {} })).toMatchObject({ answer: { status: 403 } });
  });

  it('refusals are in the shape of the family of the path', () => {
    const h = harness(policyOf([tenant('a')], { unknownPaths: 'reject' }));
    const bodyOf = (path: string): unknown => {
      const verdict = begin(h, { path });
      return verdict.kind === 'answer' ? JSON.parse(verdict.answer.body) : null;
    };
    expect(bodyOf('/v1/messages/batches')).toMatchObject({ type: 'error', error: { type: 'permission_error' }, tokenweir: { reason: 'not_metered' } });
    expect(bodyOf('/v1/batches')).toMatchObject({ error: { code: 'not_metered', type: 'invalid_request_error' } });
    expect(bodyOf('/anthropic/v1/models/x')).toMatchObject({ type: 'error' });
    expect(bodyOf('/v1beta/models/gemini-2.5-flash:batchGenerateContent')).toMatchObject({ error: { code: 403, status: 'PERMISSION_DENIED' } });
    expect(bodyOf('/v1/unheard/of')).toMatchObject({ error: { code: 'unknown_url' } });
  });
});
