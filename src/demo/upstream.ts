import type { RunningProcess } from '../services/process.js';
import { ServiceError } from '../services/service-error.js';
import { createSimulatedUpstream } from '../upstream/server.js';
import type { Cleanup, Interruption } from './ending.js';
import { untilTrue } from './until.js';

/** Tokens of prompts and of answers. */
export interface TokenCount {
  readonly input: number;
  readonly output: number;
}

/** What stands behind Envoy in the demo. */
export interface DemoUpstream {
  /** What it is, for the reader. */
  readonly title: string;
  readonly model: string;
  /** A prompt of about 540 of its tokens, which is most of what birch may use at once. */
  readonly longPrompt: string;
  /** Members added to the body of each request. */
  readonly extraBody: object;
  /** Where Envoy sends requests. */
  readonly port: number;
  /** All tokens that the model server itself has counted since its start. Waits until nothing runs on it any more. */
  counted(): Promise<TokenCount>;
}

/** What starting something takes. */
export interface Backstage {
  /** Folder for configurations and logs. */
  readonly dir: string;
  readonly cleanup: Cleanup;
  readonly interruption: Interruption;
  /** Told one line at a time. */
  readonly progress: (line: string) => void;
}

/** Stops it in the end; where it ends by itself before that, the demo is over. */
export function keepRunning(title: string, running: RunningProcess, { cleanup, interruption }: Pick<Backstage, 'cleanup' | 'interruption'>): void {
  let stopping = false;
  void running.ended.then(() => {
    if (!stopping) interruption.fail(new ServiceError(`${title} ended by itself:\n${running.tail(12)}`));
  });
  cleanup.add(() => {
    stopping = true;
    return running.stop();
  });
}

/** The simulated OpenAI server, in this process. It takes the time that a small model on a modest GPU would. */
export async function startSimulated({ cleanup, progress }: Backstage): Promise<DemoUpstream> {
  const server = await createSimulatedUpstream({ models: ['sim-small'] });
  cleanup.add(() => server.close());
  progress(`upstream: a simulated OpenAI server at ${server.url}`);
  return {
    title: 'the simulated OpenAI server',
    model: 'sim-small',
    longPrompt: promptOf(22),
    extraBody: {},
    port: server.port,
    counted: async () => {
      await untilTrue(() => Promise.resolve(server.load.running + server.load.queued === 0));
      const { promptTokens, completionTokens } = server.usageTotals;
      return { input: promptTokens, output: completionTokens };
    },
  };
}

const SENTENCE = 'the weir holds the river back and lets through as much as the mill below can use today. ';

/** The same sentence so many times. */
export function promptOf(sentences: number): string {
  return `Sum up: ${SENTENCE.repeat(sentences)}`;
}
