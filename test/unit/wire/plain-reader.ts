import type { ResponseReading } from '../../../src/domain/wire.js';
import { isObject, parseText } from '../../../src/wire/json/json.js';
import type { Answer } from '../../../src/wire/stream/answer.js';

/** Reads a whole stream the simple way: every event is parsed and taken. What the fast readers are compared with. */
export function readPlainly(answer: Answer, stream: Buffer, framing: 'sse' | 'ndjson'): ResponseReading {
  const lines = stream.toString('utf8', stream.subarray(0, 3).equals(Buffer.from('\uFEFF')) ? 3 : 0).split(framing === 'sse' ? /\r\n|\n|\r/ : '\n');
  if (framing === 'ndjson') for (const line of lines) takeText(answer, line.trim(), null);
  else readEvents(answer, lines);
  answer.complete = answer.endsWhole();
  return answer;
}

function readEvents(answer: Answer, lines: readonly string[]): void {
  let name: string | null = null;
  let data: string[] = [];
  for (const line of [...lines, '']) {
    const [, field, value = ''] = /^(data|event)(?::(.*))?$/s.exec(line) ?? [];
    if (field === 'data') data.push(value.replace(/^ /, ''));
    else if (field === 'event' && line.includes(':')) name = value.replace(/^ /, '');
    else if (line === '') {
      if (name === 'error') answer.sawError = true;
      const said = data.join('\n').trim();
      if (said === '[DONE]') answer.complete = true;
      else takeText(answer, said, name);
      name = null;
      data = [];
    }
  }
}

function takeText(answer: Answer, text: string, event: string | null): void {
  if (text === '') return;
  const part = parseText(text);
  if (isObject(part)) answer.take(part, event);
  else answer.unreadable = true;
}

/** Everything that a reading tells. */
export function factsOf({ usage, lines, responseId, model, serviceTier, output, outputPieces, sawOutput, sawError, complete, unreadable }: ResponseReading): unknown {
  return { usage, lines, responseId, model, serviceTier, output: [...output], outputPieces, sawOutput, sawError, complete, unreadable };
}
