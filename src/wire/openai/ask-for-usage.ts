import type { Splice } from '../../domain/request.js';
import { bomLength, findMember, skipBlank, type Span } from '../json/scan.js';

const CLOSE_OBJECT = 0x7d;
const OPEN_OBJECT = 0x7b;

/**
 * Edits that make `stream_options.include_usage` true in the body of a streamed request; none where it is already, or
 * where the request does not stream (OpenAI refuses the option there). Of duplicate members the last one is edited: it is
 * the one that counts. The body must be one that was parsed.
 */
export function askForUsage(body: Buffer): readonly Splice[] {
  const top = skipBlank(body, bomLength(body));
  if (!is(body, findMember(body, top, 'stream'), 'true')) return [];
  const options = findMember(body, top, 'stream_options');
  if (options === null) return [insertFirst(body, top, '"stream_options":{"include_usage":true}')];
  if (body[options.start] !== OPEN_OBJECT) return [{ ...options, insert: '{"include_usage":true}' }];
  const include = findMember(body, options.start, 'include_usage');
  if (include === null) return [insertFirst(body, options.start, '"include_usage":true')];
  return is(body, include, 'true') ? [] : [{ ...include, insert: 'true' }];
}

function is(body: Buffer, span: Span | null, word: string): boolean {
  return span !== null && body.toString('latin1', span.start, span.end) === word;
}

/** Puts a member right behind the opening brace at `brace`. */
function insertFirst(body: Buffer, brace: number, member: string): Splice {
  const empty = body[skipBlank(body, brace + 1)] === CLOSE_OBJECT;
  return { start: brace + 1, end: brace + 1, insert: empty ? member : `${member},` };
}
