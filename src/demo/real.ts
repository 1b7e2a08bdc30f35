import { startLitellm } from '../services/litellm.js';
import { startLlama } from '../services/llama.js';
import { resolveLitellm, resolveLlamaModel, resolveLlamaServer } from '../services/resolve.js';
import { onFreePorts } from './stage.js';
import { untilTrue } from './until.js';
import { keepRunning, promptOf, type Backstage, type DemoUpstream, type TokenCount } from './upstream.js';

const MODEL = 'gemma';

/**
 * A real LiteLLM proxy, and behind it a real llama.cpp server with a small Gemma. Installs what is not there. LiteLLM
 * knows no keys here: who may do what is decided in front of it.
 */
export async function startReal(backstage: Backstage): Promise<DemoUpstream> {
  const { dir, progress, interruption } = backstage;
  const server = await interruption.orEnd(resolveLlamaServer({ progress }));
  const model = await interruption.orEnd(resolveLlamaModel({ progress }));
  const proxy = await interruption.orEnd(resolveLitellm({ progress }));
  progress('llama.cpp: starting');
  const llama = await onFreePorts(1, ([port]) => startLlama({ program: server.path, model: model.path, alias: MODEL, dir, port }));
  keepRunning('llama.cpp', llama, backstage);
  progress('LiteLLM: starting, which takes some seconds');
  const models = [{ name: MODEL, backendUrl: llama.url }];
  const litellm = await onFreePorts(1, ([port]) => startLitellm({ program: proxy.path, models, masterKey: null, dir, port }));
  keepRunning('LiteLLM', litellm, backstage);
  progress(`upstream: LiteLLM ${proxy.version ?? ''} at ${litellm.url}, behind it llama.cpp with Gemma 3 270M at ${llama.url}`);
  return {
    title: 'llama.cpp behind LiteLLM',
    model: MODEL,
    longPrompt: promptOf(27),
    // Without its prompt cache llama.cpp reads every prompt, and so counts it, in full.
    extraBody: { cache_prompt: false },
    port: Number(new URL(litellm.url).port),
    counted: () => countedByLlama(`${llama.url}/metrics`),
  };
}

async function countedByLlama(metricsUrl: string): Promise<TokenCount> {
  let text = '';
  await untilTrue(async () => {
    text = await (await fetch(metricsUrl)).text();
    return metric(text, 'llamacpp:requests_processing') + metric(text, 'llamacpp:requests_deferred') === 0;
  });
  return { input: metric(text, 'llamacpp:prompt_tokens_total'), output: metric(text, 'llamacpp:tokens_predicted_total') };
}

/** Value of a metric without labels in Prometheus' text form; 0 where it is not there. */
export function metric(text: string, name: string): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length));
}
