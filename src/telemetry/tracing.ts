import {
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type TextMapGetter,
  type Tracer,
} from '@opentelemetry/api';
import type { RequestRecord } from '../domain/decision.js';
import { NO_SPAN, type PhaseAttributes, type PhaseSpan, type RequestSpan, type TraceCarrier, type Tracing } from '../domain/tracing.js';
import { requestAttributes, spanName } from './trace-attributes.js';

const getter: TextMapGetter<TraceCarrier> = {
  keys: () => [],
  get: (carrier, name) => carrier.get(name),
};

/**
 * Traces by the OpenTelemetry API alone: whoever starts the process registers an SDK, or none. Without one, `start`
 * allocates nothing that outlives it and answers the span of nothing. A span that the sampler leaves out still hands its
 * `traceparent` on, so that what comes after us leaves it out too.
 */
export function createTracing(version: string): Tracing {
  const tracer = trace.getTracer('tokenweir', version);
  return { start: (headers, name) => quietly(() => startRequest(tracer, headers, name), NO_SPAN) };
}

function startRequest(tracer: Tracer, headers: TraceCarrier, name: string): RequestSpan {
  const parent = propagation.extract(ROOT_CONTEXT, headers, getter);
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
  const own = span.spanContext();
  const isNew = isSpanContextValid(own) && own.spanId !== trace.getSpanContext(parent)?.spanId;
  return isNew ? new TracedRequest(tracer, span, trace.setSpan(parent, span)) : NO_SPAN;
}

class TracedRequest implements RequestSpan {
  readonly traceParent: string | null;
  #ended = false;

  constructor(
    private readonly tracer: Tracer,
    private readonly span: Span,
    private readonly context: Context,
  ) {
    const carrier: Record<string, string> = {};
    propagation.inject(context, carrier);
    this.traceParent = carrier['traceparent'] ?? null;
  }

  child(name: string): PhaseSpan {
    if (!this.span.isRecording()) return NO_SPAN.child(name);
    return quietly(() => phase(this.tracer.startSpan(name, { kind: SpanKind.INTERNAL }, this.context)), NO_SPAN.child(name));
  }

  end(record: RequestRecord): void {
    if (this.#ended) return;
    this.#ended = true;
    quietly(() => {
      this.#describe(record);
      this.span.end();
    }, undefined);
  }

  #describe(record: RequestRecord): void {
    if (!this.span.isRecording()) return;
    this.span.updateName(spanName(record));
    this.span.setAttributes(requestAttributes(record));
    if (record.status !== null && record.status >= 500) this.span.setStatus({ code: SpanStatusCode.ERROR });
  }
}

function phase(span: Span): PhaseSpan {
  let ended = false;
  return {
    end: (attributes?: PhaseAttributes) => {
      if (ended) return;
      ended = true;
      quietly(() => {
        if (attributes !== undefined) span.setAttributes(attributes);
        span.end();
      }, undefined);
    },
  };
}

/** An SDK's samplers and processors are other people's code: a fault there must not become a fault of the request. */
function quietly<T>(what: () => T, otherwise: T): T {
  try {
    return what();
  } catch {
    return otherwise;
  }
}
