import type { WireApi } from '../../../src/domain/wire.js';
import { anthropicRoute } from '../../../src/wire/anthropic/routes.js';
import { openaiChat, openaiResponses } from '../../../src/wire/openai/openai.js';

import type { Figure } from './figure.js';

const STREAM_BYTES = 8_000_000;
const ORDINARY_CHUNK_BYTES = 16 * 1024;
const SMALL_CHUNK_BYTES = 64;
const MEGABYTE = 1e6;

/** Texts as models send them, a token each: words, code with escapes, other scripts. */
const TOKENS = 'The quick brown fox jumps over the lazy dog , and then it says : " hello " .\n\n ## A title\n - one\n - two `code` if ( x [ 0 ] === \'y\' ) { return 42 ; } für die 你 好 café'
  .split(/(?<= )/)
  .map((token, index) => (index % 2 === 0 ? ` ${token.trim()}` : token));

const chat = (token: string) => ({
  id: 'chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012',
  object: 'chat.completion.chunk',
  created: 1_750_000_000,
  model: 'gpt-4o-mini-2024-07-18',
  service_tier: 'default',
  system_fingerprint: 'fp_0123456789',
  choices: [{ index: 0, delta: { content: token }, logprobs: null, finish_reason: null }],
});
const responses = (token: string, index: number) => ({
  type: 'response.output_text.delta',
  item_id: 'msg_68a1b2c3d4e5f60718293a4b5c6d7e8f90',
  output_index: 0,
  content_index: 0,
  delta: token,
  sequence_number: index,
  logprobs: [],
  obfuscation: 'aBcDeFgHiJkLmN'.slice(index % 14),
});
const anthropic = (token: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: token } });

function streamOf(part: (token: string, index: number) => object): Buffer {
  const events: string[] = [];
  for (let bytes = 0, index = 0; bytes < STREAM_BYTES; index++) {
    const said = part(TOKENS[(index * 7) % TOKENS.length] ?? '', index);
    const event = `${'type' in said ? `event: ${String(said.type)}\n` : ''}data: ${JSON.stringify(said)}\n\n`;
    events.push(event);
    bytes += event.length;
  }
  return Buffer.from(events.join(''));
}

function figure(name: string, api: WireApi | null, stream: Buffer, chunkBytes: number, hideUsage: boolean): Figure[] {
  if (api === null) return [];
  const chunks: Buffer[] = [];
  for (let at = 0; at < stream.length; at += chunkBytes) chunks.push(stream.subarray(at, at + chunkBytes));
  const run = () => {
    const reader = api.responseReader({ framing: 'sse', hideUsage });
    const start = process.cpuUsage();
    for (const chunk of chunks) reader.push(chunk);
    reader.end();
    const { user, system } = process.cpuUsage(start);
    const seconds = (user + system) / 1e6;
    if (reader.reading.unreadable || !reader.reading.sawOutput) throw new Error(`${name} was not read`);
    return stream.length / MEGABYTE / seconds;
  };
  const title = `reader: ${name}, ${chunkBytes === SMALL_CHUNK_BYTES ? '64-byte chunks' : 'chunks of 16 KB'}${hideUsage ? ', hiding usage' : ''}`;
  return [{ name: title, unit: 'MB/s', target: chunkBytes === SMALL_CHUNK_BYTES ? 150 : 300, run }];
}

const STREAMS: readonly (readonly [string, WireApi | null, Buffer])[] = [
  ['OpenAI chat', openaiChat, streamOf(chat)],
  ['OpenAI responses', openaiResponses, streamOf(responses)],
  ['Anthropic messages', anthropicRoute('/v1/messages'), streamOf(anthropic)],
];

/** Usage readers on ordinary streams, with the counting of the output text. By CPU time: what else the machine does matters less. */
export const figures: readonly Figure[] = [false, true].flatMap((hideUsage) =>
  [ORDINARY_CHUNK_BYTES, SMALL_CHUNK_BYTES].flatMap((bytes) => STREAMS.flatMap(([name, api, stream]) => (hideUsage && api !== openaiChat ? [] : figure(name, api, stream, bytes, hideUsage)))),
);
