import type { PromptPart, PromptSink } from '../../domain/request.js';
import type { Piece } from './sample.js';
import type { Payload } from './payload.js';

/** Parts of a prompt in the order in which an engine sees them; a schema guides the answer and is hardly ever shown, so it is last. */
const STAGES = ['tools', 'system', 'messages', 'schema'] as const;
export type Stage = (typeof STAGES)[number];

/** Bytes that are decoded at once: a megabyte in one piece falls out of the processor's caches. */
const CHUNK = 16 * 1024;

/** Keeps what parsers find in any order, until all of it can be shown in the order in which an engine sees it. */
export class EngineOrder {
  readonly #shown: Record<Stage, (() => void)[]> = { tools: [], system: [], messages: [], schema: [] };

  constructor(private readonly sink: PromptSink) {}

  /** `part`: what the piece is, where it is not what its stage says. */
  add(stage: Stage, piece: Piece, part: PromptPart = stage): void {
    this.#shown[stage].push(() => {
      if (typeof piece === 'string') this.sink.add(piece, part);
      else for (const text of piece.inChunks(CHUNK)) this.sink.add(text, part);
    });
  }

  media(stage: Stage, payload: Payload): void {
    this.#shown[stage].push(() => {
      this.sink.media(bytesOf(payload));
    });
  }

  /** Shows all that was kept. */
  flush(): void {
    for (const stage of STAGES) for (const show of this.#shown[stage].splice(0)) show();
  }
}

function bytesOf(payload: Payload): Buffer {
  if (typeof payload === 'string') return Buffer.from(payload);
  return payload.hasEscapes ? Buffer.from(payload.text()) : payload.bytes.subarray(payload.start, payload.end);
}
