import { propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { AlwaysOffSampler, BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor, type Sampler } from '@opentelemetry/sdk-trace-base';
import { afterEach, describe, expect, it } from 'vitest';
import { NO_SPAN } from '../../../src/domain/tracing.js';
import { createTracing } from '../../../src/telemetry/tracing.js';
import { record } from './records.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';
const INCOMING = new Map([['traceparent', `00-${TRACE_ID}-${PARENT_ID}-01`]]);

/** Registers an SDK, as whoever starts the process would. */
function withSdk(sampler?: Sampler): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ sampler, spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return exporter;
}

afterEach(() => {
  trace.disable();
  propagation.disable();
});

describe('tracing (point 8)', () => {
  it('continues the incoming trace: one span a request, one child a phase, and hands the trace on', () => {
    const exporter = withSdk();
    const span = createTracing('1.0.0').start(INCOMING, 'request');
    span.child('estimate').end();
    span.child('quota').end({ 'tokenweir.gate.verdict': 'admitted' });
    span.end(record());
    const [estimate, quota, request] = exporter.getFinishedSpans();
    const spanId = request?.spanContext().spanId;
    expect(request?.spanContext().traceId).toBe(TRACE_ID);
    expect(request?.parentSpanContext?.spanId).toBe(PARENT_ID);
    expect(request?.kind).toBe(SpanKind.SERVER);
    expect([estimate?.name, quota?.name]).toEqual(['estimate', 'quota']);
    expect([estimate?.parentSpanContext?.spanId, quota?.parentSpanContext?.spanId]).toEqual([spanId, spanId]);
    expect(quota?.attributes).toEqual({ 'tokenweir.gate.verdict': 'admitted' });
    expect(span.traceParent).toBe(`00-${TRACE_ID}-${spanId}-01`);
  });

  it('names and describes the span by the conventions for generative AI', () => {
    const exporter = withSdk();
    const span = createTracing('1.0.0').start(new Map(), 'request');
    span.end(record({ responseModel: 'gpt-4.1-2025-04-14', outputCapTokens: 256 }));
    const [request] = exporter.getFinishedSpans();
    expect(request?.name).toBe('chat gpt-4.1');
    expect(request?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4.1',
      'gen_ai.request.max_tokens': 256,
      'gen_ai.response.model': 'gpt-4.1-2025-04-14',
      'gen_ai.usage.input_tokens': 800,
      'gen_ai.usage.output_tokens': 200,
      'gen_ai.usage.cache_read.input_tokens': 300,
      'gen_ai.usage.reasoning.output_tokens': 50,
      'gen_ai.response.time_to_first_chunk': 0.12,
      'http.response.status_code': 200,
      'tokenweir.tenant': 'acme',
      'tokenweir.decision': 'admitted',
      'tokenweir.estimated_input_tokens': 790,
    });
    expect(request?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('marks a failure of the upstream as an error, a refusal not', () => {
    const exporter = withSdk();
    const tracing = createTracing('1.0.0');
    tracing.start(new Map(), 'request').end(record({ status: 502, usage: null }));
    tracing.start(new Map(), 'request').end(record({ status: 429, decision: 'refused', reason: 'tokens_per_minute', usage: null }));
    const [failed, refused] = exporter.getFinishedSpans();
    expect(failed?.status.code).toBe(SpanStatusCode.ERROR);
    expect(failed?.attributes['error.type']).toBe('502');
    expect(refused?.status.code).toBe(SpanStatusCode.UNSET);
    expect(refused?.attributes['tokenweir.reason']).toBe('tokens_per_minute');
    expect(refused?.attributes).not.toHaveProperty('gen_ai.usage.input_tokens');
  });

  it('ends each span once', () => {
    const exporter = withSdk();
    const span = createTracing('1.0.0').start(new Map(), 'request');
    const phase = span.child('quota');
    phase.end();
    phase.end({ late: true });
    span.end(record());
    span.end(record({ model: 'late' }));
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['quota', 'chat gpt-4.1']);
  });

  it('starts a trace of its own where the incoming header is missing or garbage', () => {
    withSdk();
    const tracing = createTracing('1.0.0');
    for (const headers of [new Map<string, string>(), new Map([['traceparent', '00-zz-garbage\r\n']])]) {
      expect(tracing.start(headers, 'request').traceParent).toMatch(/^00-(?!4bf92f)[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    }
  });

  it('hands on that a trace is not sampled', () => {
    const exporter = withSdk(new AlwaysOffSampler());
    const span = createTracing('1.0.0').start(INCOMING, 'request');
    span.child('quota').end();
    span.end(record());
    expect(span.traceParent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
    expect(span.traceParent).not.toContain(PARENT_ID);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('costs nothing without an SDK: the span of nothing, and the header stays as it came', () => {
    expect(createTracing('1.0.0').start(INCOMING, 'request')).toBe(NO_SPAN);
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    expect(createTracing('1.0.0').start(INCOMING, 'request')).toBe(NO_SPAN);
  });

  it('does not fail the request where the SDK does', () => {
    withSdk({
      shouldSample: () => {
        throw new Error('sampler');
      },
      toString: () => 'broken',
    });
    expect(createTracing('1.0.0').start(INCOMING, 'request')).toBe(NO_SPAN);
  });
});
