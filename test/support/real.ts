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
  /** The key that LiteLLM asks for. */
  readonly masterKey: string;
  /** The model's name, in front of LiteLLM and behind it. */
  readonly model: string;
  stop(): Promise<void>;
}

const MASTER_KEY = 'sk-litellm-test';
const MODEL = 'gemma';

/** Finds or installs, and starts, the real LiteLLM proxy in front of the real llama.cpp server. Takes minutes the first time. */
export async function startRealServices(): Promise<RealServices> {
  const progress = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  const [server, model, proxy] = [await resolveLlamaServer({ progress }), await resolveLlamaModel({ progress }), await resolveLitellm({ progress })];
  const dir = await mkdtemp(join(tmpdir(), 'tokenweir-real-'));
  const llama = await startLlama({ program: server.path, model: model.path, alias: MODEL, dir });
  const models = [{ name: MODEL, backendUrl: llama.url }];
  const litellm = await startLitellm({ program: proxy.path, models, masterKey: MASTER_KEY, dir }).catch(async (error: unknown) => {
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
