import type { PoolStatus } from '../../src/admin/pool-status.js';
import type { ScriptedAnswer } from '../../src/upstream/script.js';
import { chat, JSON_HEADERS, LoadClient, readAnswer, type Answer } from './clients.js';
import { startFleet, type Fleet } from './fleet.js';
import { startRedis, type RedisServer } from './redis-server.js';
import { until } from './serving.js';

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const MODEL = 'sim-small';

/** A request by its name. Its answer begins at once, and ends when it is let go. */
export interface Held {
  readonly name: string;
  readonly answer: Promise<Answer>;
  /** Null while it runs or waits. `broken`: no whole answer came. */
  outcome: number | 'broken' | null;
}

/** Two processors before an upstream whose answers end when they are told to, with a pool `chat` that they share over Redis. */
export interface PoolFleet {
  readonly fleet: Fleet;
  /** Names in the order in which they came to the upstream. */
  readonly came: readonly string[];
  /** How many are at the upstream now, and the most that were. */
  readonly atOnce: { readonly now: number; readonly most: number };
  send(tenant: string, name: string, more?: Record<string, unknown>): Held;
  /** Lets these end, also those that come later; without a name, all. */
  release(name?: string): void;
  /** The pool, as this processor shows it. */
  pool(processor: number): Promise<PoolStatus>;
  /** Waits until each of these processors shows it so. */
  untilPool(what: Partial<Pick<PoolStatus, 'waiting' | 'inFlight'>>, processors?: readonly number[]): Promise<void>;
  /** Which processor decides for all. */
  keeper(): Promise<number>;
  stop(): Promise<void>;
}

export async function startPoolFleet(yamlOf: (store: string) => string): Promise<PoolFleet> {
  const redis = await startRedis();
  const upstream = new NamedUpstream();
  const fleet = await startFleet({ envoyConfig: 'envoy.alone.yaml', yaml: yamlOf(redis.url), upstream: { script: ({ json }) => upstream.answer(json as { user: string }) } }).catch(async (error: unknown) => {
    await redis.stop();
    throw error;
  });
  return poolFleet(redis, fleet, upstream);
}

function poolFleet(redis: RedisServer, fleet: Fleet, upstream: NamedUpstream): PoolFleet {
  const client = new LoadClient(fleet.stack.url, Infinity);
  const pool = async (processor: number): Promise<PoolStatus> => (await fleet.status(processor)).pools['chat']!;
  return {
    fleet, pool,
    came: upstream.came,
    atOnce: upstream.atOnce,
    send: (tenant, name, more = {}) => send(client, tenant, name, more),
    release: (name) => { upstream.release(name); },
    untilPool: async (what, processors = [0, 1]) => {
      const wanted = Object.entries(what) as [keyof typeof what, number][];
      const isSo = async (processor: number): Promise<boolean> => {
        const shown = await pool(processor);
        return !shown.stale && wanted.every(([name, value]) => shown[name] === value);
      };
      await until(async () => (await Promise.all(processors.map(isSo))).every(Boolean), `the pool has ${JSON.stringify(what)} for ${processors.join(' and ')}`);
    },
    keeper: async () => {
      const keeps = await Promise.all(fleet.processors.map(async (processor) => (await processor.log()).some(({ msg }) => msg === 'this processor keeps a pool: it decides for all')));
      return keeps.indexOf(true);
    },
    stop: async () => {
      upstream.release();
      client.close();
      await fleet.stop();
      await redis.stop();
    },
  };
}

function send(client: LoadClient, tenant: string, name: string, more: Record<string, unknown>): Held {
  const answer = client.open(chat({ model: MODEL, stream: true, user: name, ...more }), JSON_HEADERS(`key-${tenant}`)).then(readAnswer);
  const held: Held = { name, answer, outcome: null };
  answer.then(
    ({ status, body }) => { held.outcome = status !== 200 || body.includes('[DONE]') ? status : 'broken'; },
    () => { held.outcome = 'broken'; },
  );
  return held;
}

class NamedUpstream {
  readonly came: string[] = [];
  readonly atOnce = { now: 0, most: 0 };
  readonly #gates = new Map<string, () => void>();
  readonly #free = new Set<string>();
  #allFree = false;

  answer({ user }: { readonly user: string }): ScriptedAnswer {
    this.came.push(user);
    const gate = this.#allFree || this.#free.has(user) ? Promise.resolve() : new Promise<void>((open) => this.#gates.set(user, open));
    return { kind: 'answer', pieces: this.#pieces(gate) };
  }

  release(name?: string): void {
    if (name === undefined) this.#allFree = true;
    else this.#free.add(name);
    for (const [gated, open] of this.#gates) if (name === undefined || gated === name) open();
  }

  async *#pieces(gate: Promise<void>): AsyncGenerator<string> {
    this.atOnce.now++;
    this.atOnce.most = Math.max(this.atOnce.most, this.atOnce.now);
    yield event({ choices: [{ index: 0, delta: { content: 'hello' } }] });
    await gate;
    // Before its last piece leaves: nobody can know of its end earlier.
    this.atOnce.now--;
    yield `${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`;
  }
}

function event(data: object): string {
  return `data: ${JSON.stringify({ model: MODEL, object: 'chat.completion.chunk', ...data })}\n\n`;
}
