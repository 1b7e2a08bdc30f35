import type { RequestRecord } from './decision.js';

/** Small facts of one phase. */
export type PhaseAttributes = Readonly<Record<string, string | number | boolean>>;

/** One phase of a request: a gate, the estimate. End it once; later ends do nothing. */
export interface PhaseSpan {
  end(attributes?: PhaseAttributes): void;
}

/** The span of one request. No method throws. */
export interface RequestSpan {
  /** The W3C `traceparent` to send upstream; null: leave the header as it came. */
  readonly traceParent: string | null;
  child(name: string): PhaseSpan;
  /** Ends the span with all that is told about the request. Only the first end counts. */
  end(record: RequestRecord): void;
}

/** Where a trace context is read from. Names are lower-case. */
export interface TraceCarrier {
  get(name: string): string | undefined;
}

/** Port of tracing. `start` continues the trace that the request's headers name. */
export interface Tracing {
  start(headers: TraceCarrier, name: string): RequestSpan;
}

const NO_PHASE: PhaseSpan = { end: () => undefined };

/** A span of nothing, at no cost. */
export const NO_SPAN: RequestSpan = { traceParent: null, child: () => NO_PHASE, end: () => undefined };

/** Where nobody traces. */
export const NO_TRACING: Tracing = { start: () => NO_SPAN };
