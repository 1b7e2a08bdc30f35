import { describe, expect, it } from 'vitest';
import { hashKey } from '../../src/config/hash-key.js';
import { chat, http2Post, JSON_HEADERS } from '../support/clients.js';
import { all, at, set, without } from '../support/envoy-edits.js';
import { slowStore } from '../support/slow-store.js';
import { startRecordingUpstream } from '../support/raw.js';
import { startRig, type Rig, type RigOptions } from '../support/rig.js';
import type { Store } from '../../src/domain/store.js';

const YAML = `tenants: [{ id: acme, keys: ["${hashKey('key-acme')}"], limits: { tokensPerMinute: 900000000 } }]`;
const DECISION = 'x-tokenweir-decision';

async function withRig(options: Partial<RigOptions>, test: (rig: Rig) => Promise<void>, store?: Store): Promise<void> {
  const rig = await startRig(YAML, { envoyConfig: 'envoy.yaml', ...options }, store);
  try {
    await test(rig);
  } finally {
    await rig.stop();
  }
}

/** Each line that is there for a trap is taken out, and the trap closes: what the tests beside this one hold is due to that line. */
describe('without the line against it, the trap closes', () => {
  it('3: a decision of half a second, without message_timeout, passes unmetered', async () => {
    await withRig({ edit: all(without(at.extProc('message_timeout')), without(at.extProc('max_message_timeout'))) }, async ({ post, stack }) => {
      expect((await post(chat())).headers.get(DECISION)).toBeNull();
      expect(await stack.envoy.stats('http.clients.ext_proc.tokenweir.message_timeouts')).toBe(1);
    }, slowStore(500));
  });

  it('6: without response_attributes, an answer of Envoy itself looks like one of the upstream', async () => {
    await withRig({ edit: without(at.extProc('response_attributes')), upstreamPort: 1 }, async ({ post, settled }) => {
      expect((await post(chat())).status).toBe(503);
      expect((await settled()).at(-1)!.outcome).toBe('upstream_failed');
    });
  });

  it('7: without response_trailer_mode, an answer with trailers looks cut', async () => {
    const upstream = await startRecordingUpstream(() => ['HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n', 'e\r\ndata: [DONE]\n\n\r\n0\r\nx-checksum: abc\r\n\r\n']);
    const edit = all(
      set(at.http('upstream', 'explicit_http_config', 'http_protocol_options'), { enable_trailers: true }),
      without(at.extProc('processing_mode', 'response_trailer_mode')),
    );
    await withRig({ edit, upstreamPort: upstream.port }, async ({ stack, settled }) => {
      await http2Post(stack.url, chat({ stream: true }), JSON_HEADERS('key-acme'));
      expect((await settled()).at(-1)!.outcome).toBe('cut');
    });
    await upstream.close();
  });

  it('10: where internal_address_config names loopback (older Envoys: by default), a client there steers the router by x-envoy-*', async () => {
    const edit = set(at.manager('internal_address_config'), { cidr_ranges: [{ address_prefix: '127.0.0.0', prefix_len: 8 }] });
    await withRig({ edit, upstream: { script: () => ({ kind: 'generate', firstByteMs: 300 }) } }, async ({ post }) => {
      expect((await post(chat(), { 'x-envoy-upstream-rq-timeout-ms': '20' })).status).toBe(504);
    });
  });

  it('16: without per_connection_buffer_limit_bytes, a prompt of 5 MB is a 413', async () => {
    await withRig({ edit: without(['static_resources', 'listeners', 0, 'per_connection_buffer_limit_bytes']) }, async ({ post }) => {
      expect((await post(chat({ messages: [{ role: 'user', content: 'word '.repeat(1_000_000) }] }))).status).toBe(413);
    });
  });

  it('16: without allow_mode_override, an upload that is not metered is buffered, and a 413', async () => {
    await withRig({ edit: without(at.extProc('allow_mode_override')) }, async ({ stack }) => {
      const body = new ReadableStream({ pull: pourer(20) });
      expect((await fetch(`${stack.url}/v1/files`, { method: 'POST', headers: JSON_HEADERS('key-acme'), body, duplex: 'half' } as RequestInit)).status).toBe(413);
    });
    await withRig({}, async ({ stack }) => {
      const body = new ReadableStream({ pull: pourer(20) });
      expect((await fetch(`${stack.url}/v1/files`, { method: 'POST', headers: JSON_HEADERS('key-acme'), body, duplex: 'half' } as RequestInit)).status).toBe(404);
    });
  });

  it('17: without healthy_panic_threshold, here 0 %, a wrong verdict on the only processor switches metering off; with 1 % it does not', async () => {
    const edit = all(set(at.cluster('tokenweir', 'common_lb_config'), { healthy_panic_threshold: { value: 0 } }), failingHealthCheck);
    await withRig({ edit }, async ({ post, stack }) => {
      await expect.poll(() => stack.envoy.stats('cluster.tokenweir.membership_healthy'), { timeout: 5000 }).toBe(0);
      expect((await post(chat())).headers.get(DECISION)).toBeNull();
    });
    await withRig({ edit: failingHealthCheck }, async ({ post, stack }) => {
      await expect.poll(() => stack.envoy.stats('cluster.tokenweir.membership_healthy'), { timeout: 5000 }).toBe(0);
      expect((await post(chat())).headers.get(DECISION)).toBe('admitted');
    });
  });

  it('19: without allow_content_length_header, an answer comes without its length', async () => {
    await withRig({ edit: without(at.extProc('allow_content_length_header')) }, async ({ post }) => {
      expect((await post(chat())).headers.get('content-length')).toBeNull();
    });
    await withRig({}, async ({ post }) => {
      const response = await post(chat());
      expect(Number(response.headers.get('content-length'))).toBe((await response.arrayBuffer()).byteLength);
    });
  });
});

/** Asks for a service that the processor does not know: never healthy. */
const failingHealthCheck = set(at.cluster('tokenweir', 'health_checks'), [
  { timeout: '1s', interval: '0.2s', no_traffic_interval: '0.2s', unhealthy_threshold: 1, healthy_threshold: 1, grpc_health_check: { service_name: 'nobody' } },
]);

/** Gives so many pieces of a megabyte, slowly enough that the processor answers the headers before the last. */
function pourer(pieces: number): (controller: ReadableStreamDefaultController<Uint8Array>) => Promise<void> {
  let left = pieces;
  return async (controller) => {
    await new Promise((resume) => setTimeout(resume, 20));
    if (left-- > 0) controller.enqueue(Buffer.alloc(1_048_576, 'x'));
    else controller.close();
  };
}
