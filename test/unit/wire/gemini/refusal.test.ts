import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, GoogleGenAI } from '@google/genai';
import { afterEach, describe, expect, it } from 'vitest';
import type { LocalAnswer, PlainRefusal } from '../../../../src/domain/refusal.js';
import { geminiEmbed, geminiGenerate } from '../../../../src/wire/gemini/gemini.js';
import { LIMITED, OURS, plain, TOO_LARGE } from '../local/read.js';

const { refuse } = geminiGenerate({ model: 'm', stream: false });
const bodyOf = ({ body }: LocalAnswer) => JSON.parse(body) as { error: object; tokenweir: object };

describe('a refusal', () => {
  it('names the limit and when to come again, in the words of Google and in ours', () => {
    const answer = refuse(LIMITED);
    expect(answer.status).toBe(429);
    expect(answer.headers).toEqual([['content-type', 'application/json'], ['retry-after', '2'], ['retry-after-ms', '1250']]);
    expect(bodyOf(answer)).toEqual({
      error: { code: 429, message: 'Too much.', status: 'RESOURCE_EXHAUSTED', details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.25s' }] },
      tokenweir: OURS,
    });
    expect(bodyOf(refuse({ ...LIMITED, retryAfterMs: 12_000 })).error).toMatchObject({ details: [{ retryDelay: '12s' }] });
  });

  it('does not ask to come again where that is of no use', () => {
    const answer = refuse(TOO_LARGE);
    expect(answer.status).toBe(400);
    expect(bodyOf(answer)).toEqual({ error: { code: 400, message: 'Too large.', status: 'INVALID_ARGUMENT' }, tokenweir: { limit: 'request_too_large', scope: { kind: 'tenant', id: 'acme' }, limitValue: 600, used: 0, needed: 900, retryAfterMs: null, requestId: 'r1' } });
    expect(answer.headers).toContainEqual(['x-should-retry', 'false']);
  });

  it.each([
    ['unauthenticated', 401, 'UNAUTHENTICATED'], ['model_not_allowed', 403, 'PERMISSION_DENIED'], ['not_metered', 403, 'PERMISSION_DENIED'], ['bad_request', 400, 'INVALID_ARGUMENT'], ['unknown_path', 404, 'NOT_FOUND'],
    ['body_too_large', 413, 'INVALID_ARGUMENT'], ['unsupported_encoding', 415, 'INVALID_ARGUMENT'], ['store_unavailable', 503, 'UNAVAILABLE'],
  ] as [PlainRefusal['kind'], number, string][])('%s is %i %s', (kind, code, status) => {
    const answer = refuse(plain(kind));
    expect(answer.status).toBe(code);
    expect(bodyOf(answer)).toMatchObject({ error: { code, status, message: 'No.' }, tokenweir: { reason: kind, requestId: 'r1' } });
  });

  it('names the field at fault', () => {
    expect(bodyOf(refuse(plain('bad_request', 'contents'))).error).toMatchObject({ details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'contents', description: 'No.' }] }] });
  });

  it('is the same for embeddings', () => {
    expect(geminiEmbed('predict', 'm').refuse(LIMITED)).toEqual(refuse(LIMITED));
  });
});

describe('the official Google client', () => {
  let server: Server | null = null;
  afterEach(() => void server?.close());

  /** A client of a server that answers every request alike. */
  async function clientOf({ status, headers, body }: LocalAnswer): Promise<GoogleGenAI> {
    const started = createServer((request, response) => {
      request.resume().on('end', () => void response.writeHead(status, Object.fromEntries(headers)).end(body));
    });
    server = started;
    await new Promise<void>((listening) => void started.listen(0, '127.0.0.1', listening));
    return new GoogleGenAI({ apiKey: 'x', httpOptions: { baseUrl: `http://127.0.0.1:${(started.address() as AddressInfo).port}` } });
  }

  it.each([[LIMITED, 429, 'RESOURCE_EXHAUSTED'], [TOO_LARGE, 400, 'INVALID_ARGUMENT'], [plain('unauthenticated'), 401, 'UNAUTHENTICATED']] as const)('fails with an error that carries ours: %o', async (refusal, status, word) => {
    const { models } = await clientOf(refuse(refusal));
    const request = { model: 'gemini-2.5-flash', contents: 'Hello' };
    for (const call of [() => models.generateContent(request), () => models.generateContentStream(request)]) {
      const error: unknown = await call().then(() => null, (reason: unknown) => reason);
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({ status });
      expect((error as ApiError).message).toContain(`"status":"${word}"`);
      expect((error as ApiError).message).toContain('"tokenweir"');
    }
  });
});
