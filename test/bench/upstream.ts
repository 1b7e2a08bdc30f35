/**
 * The upstream of the bench as a process of its own: `node upstream.js PORT`. Answers at once with prepared bytes, and streams
 * one event a write; usage only where it was asked for.
 */
import { createServer, type Socket } from 'node:net';
import { MessageReader } from './http1.js';
import { DONE_EVENT, JSON_ANSWER, parseAnswer, TOKEN_EVENT, USAGE_EVENT, type Answer } from './payloads.js';

const JSON_BYTES = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(JSON_ANSWER)}\r\n\r\n${JSON_ANSWER}`,
);
const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const TOKEN = Buffer.from(chunk(TOKEN_EVENT));
const FIRST = Buffer.from(STREAM_HEAD + chunk(TOKEN_EVENT));
const END = Buffer.from(`${chunk(DONE_EVENT)}0\r\n\r\n`);
const USAGE_AND_END = Buffer.from(`${chunk(USAGE_EVENT)}${chunk(DONE_EVENT)}0\r\n\r\n`);

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function serve(socket: Socket): void {
  let answer: Answer = { kind: 'json' };
  let usageAsked = false;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  const reader = new MessageReader({
    head: (head) => {
      answer = parseAnswer(head);
      usageAsked = false;
    },
    body: (bytes) => {
      if (answer.kind === 'stream') usageAsked ||= bytes.includes('"include_usage":true');
    },
    end: () => {
      if (answer.kind === 'json') socket.write(JSON_BYTES);
      else stream(socket, answer.events, answer.everyMs, usageAsked ? USAGE_AND_END : END);
    },
  });
  socket.on('data', (bytes) => {
    reader.push(bytes);
  });
}

function stream(socket: Socket, events: number, everyMs: number, end: Buffer): void {
  let left = events;
  const next = (): void => {
    if (socket.destroyed) return;
    if (left === 0) {
      socket.write(end);
      return;
    }
    const bytes = left === events ? FIRST : TOKEN;
    left--;
    if (!socket.write(bytes)) socket.once('drain', next);
    else if (everyMs === 0) setImmediate(next);
    else setTimeout(next, everyMs);
  };
  next();
}

createServer(serve).listen(Number(process.argv[2]), '127.0.0.1', 4096);
