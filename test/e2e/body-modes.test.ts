import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { chat, http2Post, JSON_HEADERS } from '../support/clients.js';
import { all, at, set } from '../support/envoy-edits.js';
import { startRecordingUpstream } from '../support/raw.js';
import { startRig, type Rig, type RigOptions } from '../support/rig.js';

const YAML = `
tenants:
  - { id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 900000000 } }
`;

async function withRig(options: RigOptions, test: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = await startRig(YAML, options);
  try {
    await test(rig);
  } finally {
    await rig.stop();
  }
}

const modes = (request: string, response: string) =>
  all(set(at.extProc('processing_mode', 'request_body_mode'), request), set(at.extProc('processing_mode', 'response_body_mode'), response));

/** The answer, and what it was charged. */
async function streamed({ post, settled, stack }: Rig) {
  const response = await post(chat({ stream: true }));
  const text = await response.text();
  const charged = (await settled()).at(-1)!;
  return { status: response.status, decision: response.headers.get('x-tokenweir-decision'), text, charged, upstream: stack.upstream.requests.at(-1)! };
}

describe('body modes that can not work', () => {
  it.each(['STREAMED', 'BUFFERED_PARTIAL', 'NONE'])('request %s: a clear error in the log, and 503 where the filter fails closed', async (mode) => {
    await withRig({ envoyConfig: 'envoy.alone.yaml', edit: modes(mode, 'STREAMED') }, async ({ processor, stack, post, metrics }) => {
      expect((await post(chat())).status).toBe(503);
      expect(stack.upstream.requests).toHaveLength(0);
      const fault = processor.log.find(({ msg, kind }) => msg === 'fault' && kind === 'unsupported_modes')!;
      expect(fault['message']).toContain(`request_body_mode ${mode} can't work`);
      expect(await metrics()).toMatch(/tokenweir_faults_total\{kind="unsupported_modes"\} [1-9]/);
    });
  });

  it('the same with 500 where the filter names no status of its own', async () => {
    const edit = all(modes('STREAMED', 'STREAMED'), set(at.extProc('status_on_error'), { code: 500 }));
    await withRig({ envoyConfig: 'envoy.alone.yaml', edit }, async ({ post }) => {
      expect((await post(chat())).status).toBe(500);
    });
  });

  it('the request passes where the filter fails open', async () => {
    await withRig({ envoyConfig: 'envoy.yaml', edit: modes('STREAMED', 'STREAMED') }, async ({ stack, post, processor }) => {
      expect((await post(chat())).status).toBe(200);
      expect(stack.upstream.requests).toHaveLength(1);
      expect(processor.log.some(({ kind }) => kind === 'unsupported_modes')).toBe(true);
    });
  });
});

describe('mixed body modes', () => {
  it('BUFFERED requests with FULL_DUPLEX_STREAMED answers are metered, their usage hidden', async () => {
    await withRig({ envoyConfig: 'envoy.yaml', edit: modes('BUFFERED', 'FULL_DUPLEX_STREAMED') }, async (rig) => {
      const { decision, text, charged, upstream } = await streamed(rig);
      expect(decision).toBe('admitted');
      expect(text).toContain('[DONE]');
      expect(text).not.toContain('prompt_tokens');
      expect(charged).toMatchObject({ outcome: 'completed', inputTokens: upstream.promptTokens, outputTokens: upstream.completionTokens, estimated: false });
      expect(Number(upstream.headers['content-length'])).toBe(upstream.body.length);
    });
  });

  it('answers BUFFERED: the same', async () => {
    await withRig({ envoyConfig: 'envoy.yaml', edit: modes('BUFFERED', 'BUFFERED') }, async (rig) => {
      const { text, charged, upstream } = await streamed(rig);
      expect(text).toContain('[DONE]');
      expect(text).not.toContain('prompt_tokens');
      expect(charged).toMatchObject({ outcome: 'completed', inputTokens: upstream.promptTokens, outputTokens: upstream.completionTokens, estimated: false });
    });
  });

  it('answers NONE: nothing is read, so nothing is asked for that could not be hidden; the charge is our estimate', async () => {
    await withRig({ envoyConfig: 'envoy.yaml', edit: modes('BUFFERED', 'NONE') }, async (rig) => {
      const { decision, text, charged } = await streamed(rig);
      expect(decision).toBe('admitted');
      expect(text).toContain('[DONE]');
      expect(text).not.toContain('prompt_tokens');
      expect(charged.estimated).toBe(true);
      expect(charged.inputTokens).toBeGreaterThan(0);
      await delay(50);
      expect(rig.processor.log.filter(({ msg }) => msg === 'fault')).toEqual([]);
    });
  });
});

describe.each(['envoy.yaml', 'envoy.duplex.yaml'])('trap 7, trailers, %s', (envoyConfig) => {
  it('of an answer end it properly, and reach the client', async () => {
    const upstream = await startRecordingUpstream(() => [
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\ntrailer: x-checksum\r\n\r\n',
      ...['data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n', 'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}\n\n', 'data: [DONE]\n\n'].map(
        (event) => `${event.length.toString(16)}\r\n${event}\r\n`,
      ),
      '0\r\nx-checksum: abc\r\n\r\n',
    ]);
    const edit = set(at.http('upstream', 'explicit_http_config', 'http_protocol_options'), { enable_trailers: true });
    await withRig({ envoyConfig, edit, upstreamPort: upstream.port }, async ({ stack, settled }) => {
      const answer = await http2Post(stack.url, chat({ stream: true }), JSON_HEADERS('key-acme'));
      expect(answer.body.toString()).toContain('[DONE]');
      expect(answer.body.toString()).not.toContain('prompt_tokens');
      expect(answer.trailers).toMatchObject({ 'x-checksum': 'abc' });
      expect((await settled()).at(-1)).toMatchObject({ outcome: 'completed', inputTokens: 9, outputTokens: 2, estimated: false });
    });
    await upstream.close();
  });
});

describe('trap 18, keep-alive race', () => {
  it('Envoy closes an idle connection before a server with five seconds would', async () => {
    await withRig({ envoyConfig: 'envoy.yaml' }, async ({ post, stack }) => {
      await (await post(chat())).text();
      await delay(4500);
      expect(await stack.envoy.stats('cluster.upstream.upstream_cx_idle_timeout')).toBe(1);
    });
  });
});
