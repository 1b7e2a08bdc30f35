import type { Reply, Struct, Value } from './protocol.js';
import { WHOLE_ANSWER } from './replies.js';
import { ReverseWriter } from './reverse-writer.js';

type Headers = NonNullable<Reply['request_headers']>;
type Common = NonNullable<Headers['response']>;
type BodyMutation = NonNullable<Common['body_mutation']>;
type HeaderMutation = NonNullable<Common['header_mutation']>;

/** Field numbers (see proto/), shifted by three, with the wire type: 0 number, 1 eight bytes, 2 length and bytes. */
const REPLY_TAGS = { request_headers: 0x0a, response_headers: 0x12, request_body: 0x1a, response_body: 0x22, request_trailers: 0x2a, response_trailers: 0x32 } as const;
const DYNAMIC_METADATA = 0x42;
const MODE_OVERRIDE = 0x4a;
/** `WHOLE_ANSWER`: response_body_mode (4) BUFFERED (2), response_trailer_mode (6) SEND (1). */
const WHOLE_ANSWER_BYTES = Buffer.from([0x20, 2, 0x30, 1]);
const OVERWRITE_IF_EXISTS_OR_ADD = 2;
/** Above this a body is better copied once by the general encoder than twice here. */
const MAX_BODY_BYTES = 32 * 1024;

type Part = keyof typeof REPLY_TAGS;
const PARTS = Object.keys(REPLY_TAGS) as readonly Part[];
const writer = new ReverseWriter();

/**
 * Encodes the replies that each request gets (continue, edits of headers and bodies, metadata), all in one pass. The general
 * encoder first copies a reply into objects of its own, three levels for each header: it took 14 % of a request's CPU, this 3 %.
 * Null for any other reply: the general encoder's work.
 */
export function encodeReply(reply: Reply): Buffer | null {
  const part = partOf(reply);
  if (part === null || !isKnown(reply, OF_REPLY) || (reply.mode_override && reply.mode_override !== WHOLE_ANSWER)) return null;
  const { [part]: said } = reply;
  if (!said || !isKnown(said, OF_PART)) return null;
  const { response } = said as Headers;
  if (response && !isUsual(response)) return null;
  writer.begin();
  if (reply.mode_override) writer.bytes(MODE_OVERRIDE, WHOLE_ANSWER_BYTES);
  if (reply.dynamic_metadata) {
    const end = writer.mark();
    struct(reply.dynamic_metadata);
    writer.close(DYNAMIC_METADATA, end);
  }
  const end = writer.mark();
  if (response) {
    common(response);
    writer.close(0x0a, end);
  }
  writer.close(REPLY_TAGS[part], end);
  return writer.finish();
}

function partOf(reply: Reply): Part | null {
  for (const name in reply) if (name in REPLY_TAGS) return name as Part;
  return null;
}

const OF_REPLY: ReadonlySet<string> = new Set([...PARTS, 'dynamic_metadata', 'mode_override']);
const OF_COMMON: ReadonlySet<string> = new Set(['header_mutation', 'body_mutation']);
const OF_PART: ReadonlySet<string> = new Set(['response']);

/** Whether there is nothing in it that would be left out here. */
function isKnown(message: object, known: ReadonlySet<string>): boolean {
  for (const name in message) if (!known.has(name)) return false;
  return true;
}

function isUsual(response: Common): boolean {
  if (!isKnown(response, OF_COMMON)) return false;
  if (response.body_mutation && bodyBytes(response.body_mutation) > MAX_BODY_BYTES) return false;
  const set = response.header_mutation?.set_headers ?? [];
  return set.every(({ header, append_action: action, append }) => action === 'OVERWRITE_IF_EXISTS_OR_ADD' && !append && header?.raw_value instanceof Buffer);
}

function bodyBytes({ body, streamed_response: streamed }: BodyMutation): number {
  return (body ?? streamed?.body ?? '').length;
}

function common({ header_mutation: headers, body_mutation: body }: Common): void {
  let end = writer.mark();
  if (body) {
    bodyMutation(body);
    writer.close(0x1a, end);
    end = writer.mark();
  }
  if (headers) {
    headerMutation(headers);
    writer.close(0x12, end);
  }
}

function bodyMutation({ body, clear_body: clear, streamed_response: streamed }: BodyMutation): void {
  if (streamed) {
    const end = writer.mark();
    if (streamed.end_of_stream === true) writer.number(0x10, 1);
    writer.bytes(0x0a, streamed.body as Buffer);
    writer.close(0x1a, end);
  } else if (clear === true) writer.number(0x10, 1);
  else if (body !== undefined) writer.bytes(0x0a, body as Buffer);
}

function headerMutation({ set_headers: set = [], remove_headers: remove = [] }: HeaderMutation): void {
  for (let i = remove.length - 1; i >= 0; i--) writer.text(0x12, remove[i]!);
  for (let i = set.length - 1; i >= 0; i--) {
    const { header } = set[i]!;
    const end = writer.mark();
    writer.number(0x18, OVERWRITE_IF_EXISTS_OR_ADD);
    const headerEnd = writer.mark();
    writer.bytes(0x1a, header!.raw_value as Buffer);
    writer.text(0x0a, header!.key!);
    writer.close(0x0a, headerEnd);
    writer.close(0x0a, end);
  }
}

function struct({ fields = {} }: Struct): void {
  const names = Object.keys(fields);
  for (let i = names.length - 1; i >= 0; i--) {
    const end = writer.mark();
    value(fields[names[i]!] as Value);
    writer.close(0x12, end);
    writer.text(0x0a, names[i]!);
    writer.close(0x0a, end);
  }
}

function value({ stringValue, numberValue, boolValue, structValue }: Value): void {
  if (stringValue !== undefined) writer.text(0x1a, stringValue);
  else if (numberValue !== undefined) writer.double(0x11, numberValue as number);
  else if (boolValue !== undefined) writer.number(0x20, boolValue ? 1 : 0);
  else if (structValue) {
    const end = writer.mark();
    struct(structValue);
    writer.close(0x2a, end);
  } else throw new TypeError('metadata holds texts, numbers, truth values and maps only');
}
