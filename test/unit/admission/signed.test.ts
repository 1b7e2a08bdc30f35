import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../src/admission/exchange.js';
import type { RequestHead } from '../../../src/admission/head.js';
import { signedHeadersOf, unsignedEdits } from '../../../src/admission/signed.js';
import { harness, policyOf, tenant } from '../../support/harness.js';

const SIGNATURE = 'AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host;X-Amz-Date;x-tokenweir-session, Signature=abcd';
const PRESIGNED = '/model/m/converse?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-SignedHeaders=host%3Bx-amz-date&X-Amz-Signature=abcd';

function head(headers: Record<string, string>, path = '/v1/chat/completions'): RequestHead {
  return { method: 'POST', path, headers: new Map(Object.entries(headers)), endOfStream: false, stage: 'front', externalId: null, metadata: () => undefined };
}
const signed = (headers: Record<string, string>, path?: string): string[] | null => {
  const names = signedHeadersOf(head(headers, path));
  return names && [...names];
};

describe('requests signed with SigV4 (point 1)', () => {
  it('tells what the signature covers, in the header or in the query', () => {
    expect(signed({ authorization: SIGNATURE })).toEqual(['host', 'x-amz-date', 'x-tokenweir-session']);
    expect(signed({ authorization: SIGNATURE.replace('HMAC-SHA256', 'ECDSA-P256-SHA256') })).toEqual(['host', 'x-amz-date', 'x-tokenweir-session']);
    expect(signed({}, PRESIGNED)).toEqual(['host', 'x-amz-date']);
  });

  it.each([
    [{}, undefined],
    [{ authorization: 'Bearer AWS4-HMAC-SHA256' }, undefined],
    [{ authorization: 'Bearer key-a' }, PRESIGNED],
    // Somebody who has a key here and would rather not have the request looked at closely.
    [{ authorization: SIGNATURE, 'x-api-key': 'key-a' }, undefined],
    [{ 'api-key': 'key-a' }, PRESIGNED],
    [{}, '/v1beta/models/m:generateContent?key=key-a&X-Amz-SignedHeaders=content-type&X-Amz-Signature=1'],
    [{ authorization: SIGNATURE }, '/v1beta/models/m:generateContent?%6bey=key-a'],
    [{}, '/v1/chat/completions#?X-Amz-Signature=1'],
  ] as [Record<string, string>, string | undefined][])('%j %s is not signed', (headers, path) => {
    expect(signed(headers, path)).toBeNull();
  });

  it('leaves what is signed', () => {
    const edits = { set: [['traceparent', 't'], ['x-a', '1']] as const, remove: ['accept-encoding', 'x-b'] };
    expect(unsignedEdits(edits, new Set(['x-a', 'accept-encoding']))).toEqual({ set: [['traceparent', 't']], remove: ['x-b'] });
  });

  it('carries no tenant’s key: without an anonymous tenant it is refused, with one it is that one’s', () => {
    const closed = harness(policyOf([tenant('a')]));
    expect(new Exchange(closed.admission, head({ authorization: SIGNATURE })).begin()).toMatchObject({ answer: { status: 401, body: expect.stringContaining('SigV4') as string } });
    const open = harness(policyOf([tenant('a')], { identity: { anonymousTenantId: 'a' } }));
    expect(new Exchange(open.admission, head({ authorization: SIGNATURE })).begin().kind).toBe('read_body');
    const template = harness(policyOf([tenant('a')], { identity: { unknownKeyTemplateId: 'a' } }));
    expect(new Exchange(template.admission, head({ authorization: SIGNATURE })).begin()).toMatchObject({ answer: { status: 401 } });
  });

  it('can’t hold on to a header that only we may set', () => {
    const h = harness(policyOf([tenant('a')], { identity: { anonymousTenantId: 'a' } }));
    const spoof = head({ authorization: SIGNATURE, 'x-tokenweir-session': 's' });
    expect(new Exchange(h.admission, spoof).begin()).toMatchObject({ answer: { status: 400 } });
  });
});
