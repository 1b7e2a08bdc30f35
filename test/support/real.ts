import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningService } from '../../src/services/litellm.js';
import { startLitellm } from '../../src/services/litellm.js';
import { startLlama } from '../../src/services/llama.js';
import { resolveLitellm, resolveLlamaModel, resolveLlamaServer } from '../../src/services/resolve.js';

export interface RealServices {
  readonly litellm: RunningService;
  readonly llama: RunningService;
  /** The key that LiteLLM asks for, if it asks. */
  readonly masterKey: string;
  /** The model's name, in front of LiteLLM and behind it. */
  readonly model: string;
  stop(): Promise<void>;
}

const MASTER_KEY = 'sk-litellm-test';
const MODEL = 'gemma';

export interface RealOptions {
  /** False: LiteLLM takes any key. Default true. */
  readonly asksForKey?: boolean;
  /** Puts something between LiteLLM and the model server; returns its address. */
  readonly between?: (llamaUrl: string) => Promise<string>;
}

/** Finds or installs, and starts, the real LiteLLM proxy in front of the real llama.cpp server. Takes minutes the first time. */
export async function startRealServices(options: RealOptions = {}): Promise<RealServices> {
  const progress = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  const [server, model, proxy] = [await resolveLlamaServer({ progress }), await resolveLlamaModel({ progress }), await resolveLitellm({ progress })];
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-real-'));
  const llama = await startLlama({ program: server.path, model: model.path, alias: MODEL, dir });
  const models = [{ name: MODEL, backendUrl: (await options.between?.(llama.url)) ?? llama.url }];
  const masterKey = options.asksForKey === false ? null : MASTER_KEY;
  const litellm = await startLitellm({ program: proxy.path, models, masterKey, dir }).catch(async (error: unknown) => {
    await llama.stop();
    throw error;
  });
  return {
    ...{ litellm, llama, masterKey: MASTER_KEY, model: MODEL },
    stop: async () => {
      await litellm.stop();
      await llama.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
