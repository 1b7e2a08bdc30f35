import { parentPort } from 'node:worker_threads';
import { boundedRuns } from './runs.js';

/** What the worker is asked … */
export interface Question {
  readonly id: number;
  readonly text: string;
}

/** … and what it answers. */
export interface Reply {
  readonly id: number;
  readonly tokens: number;
}

const port = parentPort;
if (port !== null) await serve(port);

async function serve(asked: NonNullable<typeof parentPort>): Promise<void> {
  const { countTokens, setMergeCacheSize } = await import('gpt-tokenizer/encoding/o200k_base');
  // Its cache keeps pieces of prompts, and whole bodies with them.
  setMergeCacheSize(0);
  // Marks such as <|endoftext|> are plain text in what a client sends.
  const asText = { disallowedSpecial: new Set<string>() };
  asked.on('message', ({ id, text }: Question) => {
    let tokens = 0;
    for (const piece of boundedRuns(text)) tokens += countTokens(piece, asText);
    asked.postMessage({ id, tokens } satisfies Reply);
  });
}
