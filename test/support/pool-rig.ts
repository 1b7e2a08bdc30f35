import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { hashKey } from '../../src/config/hash-key.js';
import type { PoolSnapshot } from '../../src/domain/pool.js';
import { systemClock } from '../../src/lib/clock.js';
import { createMemoryPools } from '../../src/stores/memory-pools.js';
import type { Script } from '../../src/upstream/script.js';
import { chat, JSON_HEADERS, LoadClient, readAnswer, type Answer } from './clients.js';
import { startRig, type Rig, type RigOptions } from './rig.js';

/** An upstream whose answers wait until they are let go. */
export class GatedUpstream {
  readonly #gates: (() => void)[] = [];
  #open = false;
  #ahead = 0;

  /** The `user` of its requests' bodies, in the order in which they came. */
  readonly came: string[] = [];

  readonly script: Script = ({ json }) => {
    const { user, stream } = json as { user?: string; stream?: boolean };
    this.came.push(user ?? '');
    const free = this.#open || this.#ahead > 0;
    if (!this.#open && free) this.#ahead--;
    const gate = free ? Promise.resolve() : new Promise<void>((resolve) => this.#gates.push(resolve));
    return { kind: 'answer', headers: { 'content-type': stream === true ? 'text/event-stream' : 'application/json' }, pieces: answer(gate, stream === true) };
  };

  /** Lets the oldest answer go that waits, or the next one that comes. */
  release(): void {
    const oldest = this.#gates.shift();
    if (oldest === undefined) this.#ahead++;
    else oldest();
  }

  /** Lets all go, those that come later too. */
  openAll(): void {
    this.#open = true;
    for (const release of this.#gates.splice(0)) release();
  }
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

async function* answer(gate: Promise<void>, stream: boolean): AsyncGenerator<string> {
  await gate;
  if (!stream) yield JSON.stringify({ model: 'sim-small', choices: [{ index: 0, message: { role: 'assistant', content: 'hello there' } }], usage: USAGE });
  else yield `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'hello' } }] })}\n\ndata: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;
}

export interface PoolRig {
  readonly rig: Rig;
  readonly upstream: GatedUpstream;
  readonly clients: LoadClient;
  /** Sends a request of this tenant, named by `user`; the answer comes when it comes. */
  send(tenantId: string, user: string, more?: { body?: Record<string, unknown>; headers?: Record<string, string> }): Sent;
  snapshot(): Promise<PoolSnapshot>;
  /** Waits until the pool is so: looked at every few milliseconds, for ten seconds at most. */
  until(what: (pool: PoolSnapshot) => boolean): Promise<void>;
  stop(): Promise<void>;
}

export interface Sent {
  readonly answer: Promise<Answer>;
  /** The client leaves. */
  leave(): void;
}

/** Tenants with the keys `key-<id>`, as YAML. */
export function tenantsYaml(...ids: readonly string[]): string {
  return `tenants:\n${ids.map((id) => `  - { id: ${id}, keys: ["${hashKey(`key-${id}`)}"], limits: { tokensPerMinute: 900000000, concurrency: 100000 } }\n`).join('')}`;
}

/** The whole program with a real Envoy before an upstream that answers when it is let; the pool is `chat`. */
export async function startPoolRig(yaml: string, options: RigOptions): Promise<PoolRig> {
  const pools = createMemoryPools();
  const upstream = new GatedUpstream();
  const rig = await startRig(yaml, { ...options, upstream: { script: upstream.script } }, undefined, undefined, pools);
  const clients = new LoadClient(rig.stack.url, Infinity);
  const snapshot = async (): Promise<PoolSnapshot> => {
    const found = await pools.snapshot('chat', Math.floor(systemClock.nowMs()));
    if (found === null) throw new Error('the pool was never asked');
    return found;
  };
  return {
    rig, upstream, clients, snapshot,
    send: (tenantId, user, { body = {}, headers = {} } = {}) => {
      let leave = (): void => undefined;
      const incoming = clients.open(chat({ user, ...body }), { ...JSON_HEADERS(`key-${tenantId}`), ...headers }, undefined, (sent) => {
        leave = () => { sent.destroy(); };
      });
      const answered = incoming.then((message: IncomingMessage) => readAnswer(message));
      // Whoever waits for it hears of its failure.
      answered.catch(() => undefined);
      return { answer: answered, leave: () => { leave(); } };
    },
    until: async (what) => {
      for (const end = Date.now() + 10_000; !(await pools.snapshot('chat', Math.floor(systemClock.nowMs())).then((pool) => pool !== null && what(pool))); ) {
        if (Date.now() > end) throw new Error(`the pool is not so after 10 s: ${JSON.stringify(await snapshot())}`);
        await delay(5);
      }
    },
    stop: async () => {
      upstream.openAll();
      clients.close();
      await rig.stop();
    },
  };
}
