import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import type { EndEvent } from '../../domain/wire.js';

/** Keeps nothing between frames. */
const CODEC = new EventStreamCodec(toUtf8, fromUtf8);

/** As a server-sent event. `midEvent`: what stands before is finished first, by a blank line; a client can't read that part, and says so. */
export function sseEnd({ name, data }: EndEvent, midEvent: boolean): Buffer {
  return Buffer.from(`${midEvent ? '\n\n' : ''}${name === null ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
}

/** As a line of JSON. */
export function lineEnd({ data }: EndEvent, midLine: boolean): Buffer {
  return Buffer.from(`${midLine ? '\n' : ''}${JSON.stringify(data)}\n`);
}

/** As an exception of an AWS event stream. */
export function frameEnd({ exception, data }: EndEvent): Buffer {
  const text = (value: string): { type: 'string'; value: string } => ({ type: 'string', value });
  const headers = { ':message-type': text('exception'), ':exception-type': text(exception ?? 'serviceUnavailableException'), ':content-type': text('application/json') };
  return Buffer.from(CODEC.encode({ headers, body: fromUtf8(JSON.stringify(data)) }));
}

/** As the last part of a JSON list, which it closes. */
export function partEnd({ data }: EndEvent, before: '[' | ',' | ''): Buffer {
  return Buffer.from(`${before}${JSON.stringify(data)}]`);
}
