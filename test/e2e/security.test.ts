import { createPrivateKey, createSign, generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import { isSeq } from 'yaml';
import { hashKey } from '../../src/config/hash-key.js';
import { chat, JSON_HEADERS } from '../support/clients.js';
import { at, set } from '../support/envoy-edits.js';
import { startProcessor, type RunningProcessor } from '../support/processor.js';
import { startServing, until, type Serving } from '../support/serving.js';
import { startStack, type Stack, type StackOptions } from '../support/stack.js';
import { makeCertificates, type Certificates } from '../unit/admin/certificates.js';

const TENANTS = `tenants: [{ id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 60000, requestsPerMinute: 3 } }]`;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of open.splice(0).reverse()) await stop();
});

async function start(yaml: string, options: Omit<StackOptions, 'processorPort'>): Promise<{ processor: RunningProcessor; stack: Stack }> {
  const processor = await startProcessor(yaml);
  open.push(() => processor.stop());
  const stack = await startStack({ ...options, processorPort: processor.port });
  open.push(() => stack.stop());
  return { processor, stack };
}

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-security-'));
  open.push(() => rm(dir, { recursive: true }));
  return dir;
}

const post = (stack: Stack, headers: Record<string, string> = JSON_HEADERS('key-acme')): Promise<Response> =>
  fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', headers, body: chat() });

/** Envoy's side of TLS to the processor; without `pair` it shows no certificate. */
function tlsToProcessor(ca: string, pair: { cert: string; key: string } | null) {
  const shown = pair === null ? {} : { tls_certificates: [{ certificate_chain: { filename: pair.cert }, private_key: { filename: pair.key } }] };
  return set(at.cluster('tokenweir', 'transport_socket'), {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: { alpn_protocols: ['h2'], validation_context: { trusted_ca: { filename: ca } }, ...shown },
    },
  });
}

/** A processor that listens with TLS, and an Envoy that shows it this certificate. */
async function startTls(files: Certificates, clientCa: string | null, pair: { cert: string; key: string } | null): Promise<{ serving: Serving; stack: Stack }> {
  const tls = { extProc: { certFile: files.server.cert, keyFile: files.server.key, clientCaFile: clientCa } };
  const serving = await startServing(TENANTS, (extProc, admin) => `server: ${JSON.stringify({ extProc, admin, drain: { noticeMs: 0, timeoutMs: 1000 }, tls })}`);
  open.push(() => serving.stop());
  const stack = await startStack({ envoyConfig: 'envoy.alone.yaml', processorPort: serving.port, edit: tlsToProcessor(files.ca, pair) });
  open.push(() => stack.stop());
  return { serving, stack };
}

describe('TLS on the ext_proc port', () => {
  it('an Envoy that trusts the authority is served; one without TLS is not', async () => {
    const files = await makeCertificates(await folder());
    const { serving, stack } = await startTls(files, null, null);
    expect((await post(stack)).headers.get('x-tokenweir-decision')).toBe('admitted');
    const plain = await startStack({ envoyConfig: 'envoy.alone.yaml', processorPort: serving.port });
    open.push(() => plain.stop());
    expect((await post(plain)).status).toBe(503);
  });

  it('mTLS: only an Envoy with a certificate of the authority is served', async () => {
    const files = await makeCertificates(await folder());
    const { serving, stack } = await startTls(files, files.ca, files.client);
    expect((await post(stack)).headers.get('x-tokenweir-decision')).toBe('admitted');
    for (const pair of [null, files.stranger]) {
      const other = await startStack({ envoyConfig: 'envoy.alone.yaml', processorPort: serving.port, edit: tlsToProcessor(files.ca, pair) });
      open.push(() => other.stop());
      expect((await post(other)).status).toBe(503);
      expect(other.upstream.requests).toHaveLength(0);
    }
  });
});

const ISSUER = 'https://login.test';

/** Puts Envoy's jwt_authn filter in front of ours. */
function withJwt(key: JsonWebKey) {
  const filter = {
    name: 'envoy.filters.http.jwt_authn',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication',
      providers: { login: { issuer: ISSUER, forward: true, payload_in_metadata: 'jwt_payload', local_jwks: { inline_string: JSON.stringify({ keys: [{ ...key, kid: 'k', alg: 'RS256', use: 'sig' }] }) } } },
      rules: [{ match: { prefix: '/' }, requires: { provider_name: 'login' } }],
    },
  };
  return (config: Document): void => {
    const filters = config.getIn(at.filters());
    if (isSeq(filters)) filters.items.unshift(config.createNode(filter));
  };
}

function token(privateKey: JsonWebKey, claims: Record<string, unknown>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', kid: 'k', typ: 'JWT' })}.${part({ iss: ISSUER, exp: Math.floor(Date.now() / 1000) + 300, ...claims })}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(createPrivateKey({ key: privateKey, format: 'jwk' }), 'base64url')}`;
}

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('tenants by verified tokens, %s', (envoyConfig) => {
  it('the claim of a token that jwt_authn verified names the tenant; any other is refused', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ format: 'jwk' });
    const identity = 'identity: { jwt: { payloadKey: jwt_payload, claim: org.id, tenants: { org-1: acme } } }\n';
    const { processor, stack } = await start(`${identity}${TENANTS}`, { envoyConfig, edit: withJwt(publicKey.export({ format: 'jwk' })) });
    const bearer = (claims: Record<string, unknown>): Record<string, string> => JSON_HEADERS(token(key, claims));
    const good = await post(stack, bearer({ org: { id: 'org-1' } }));
    expect([good.status, good.headers.get('x-tokenweir-decision')]).toEqual([200, 'admitted']);
    await processor.idle();
    expect((await processor.app.status()).tenants['acme']!.usage.requests).toBe(1);
    expect((await post(stack, bearer({ org: { id: 'org-2' } }))).headers.get('x-tokenweir-decision')).toBe('refused; reason=unauthenticated');
    const forged = token(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), { org: { id: 'org-1' } });
    const refused = await post(stack, JSON_HEADERS(forged));
    expect([refused.status, refused.headers.get('x-tokenweir-decision')]).toEqual([401, null]);
    expect(stack.upstream.requests).toHaveLength(1);
  });
});

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])("facts in Envoy's access log, %s", (envoyConfig) => {
  it('each line tells tenant, decision and tokens, and no key', async () => {
    const { processor, stack } = await start(TENANTS, { envoyConfig });
    for (let i = 0; i < 4; i++) await (await post(stack)).text();
    await until(() => stack.envoy.accessLog().length >= 4, 'four lines in the access log');
    const lines = stack.envoy.accessLog();
    const sent = stack.upstream.requests[0]!;
    expect(lines[0]!['tokenweir']).toMatchObject({ tenant: 'acme', model: 'sim-small', decision: 'admitted', outcome: 'completed', input_tokens: sent.promptTokens, output_tokens: sent.completionTokens });
    expect(lines[3]).toMatchObject({ status: 429, tokenweir: { tenant: 'acme', decision: 'refused', reason: 'requests_per_minute' } });
    expect(JSON.stringify(lines) + JSON.stringify(processor.log)).not.toContain('key-acme');
  });
});

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])("facts in Envoy's access log of a compressed answer, %s", (envoyConfig) => {
  it('tell its tokens too', async () => {
    const { stack } = await start(TENANTS, { envoyConfig, upstream: { script: () => ({ kind: 'generate', encoding: 'gzip' }) } });
    await (await post(stack)).text();
    await until(() => stack.envoy.accessLog().length > 0, 'a line in the access log');
    const sent = stack.upstream.requests[0]!;
    expect(stack.envoy.accessLog()[0]!['tokenweir']).toMatchObject({ outcome: 'completed', input_tokens: sent.promptTokens, output_tokens: sent.completionTokens });
  });
});

describe('the admin token', () => {
  it('guards what names tenants, and leaves the probes open', async () => {
    const { adminUrl } = (await start(`adminToken: let-me-in\n${TENANTS}`, { envoyConfig: 'envoy.yaml' })).processor;
    const status = async (path: string, authorization?: string): Promise<number> => (await fetch(`${adminUrl}${path}`, { headers: authorization === undefined ? {} : { authorization } })).status;
    for (const path of ['/status', '/metrics', '/ledger']) {
      expect([await status(path), await status(path, 'Bearer wrong'), await status(path, 'Bearer let-me-in')]).toEqual([401, 401, 200]);
    }
    expect([await status('/healthz'), await status('/readyz')]).toEqual([200, 200]);
  });
});
