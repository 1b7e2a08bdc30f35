import type { IncomingHttpHeaders } from 'node:http';

/** What the server saw of one request and did for it. Changes while it runs. */
export interface RecordedRequest {
  readonly index: number;
  readonly method: string;
  /** With the query, as it came. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Exactly the bytes that came. */
  readonly body: Buffer;
  /** Null until the answer began. */
  status: number | null;
  /** Bytes of the answer's body handed to the connection, after compression. */
  bytesSent: number;
  promptTokens: number;
  /** Tokens produced so far: also those that nobody took. */
  completionTokens: number;
  /** The client left before the answer's end. */
  disconnected: boolean;
  /** Resolves when it is over, either way. */
  readonly ended: Promise<void>;
}

/** What the engine did in sum: the truth that a ledger is compared with. */
export interface UsageTotals {
  /** Requests that reached the engine. */
  requests: number;
  promptTokens: number;
  completionTokens: number;
}
