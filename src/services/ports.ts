import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below what systems give to outgoing connections: there, one of these may take a port between its choice and its use. */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
const MAX_TRIES = 1_000;

const given = new Set<number>();

/** Finds free TCP ports on loopback, all different, and given to nobody else in this process. They are free now; that somebody else takes one at once is unlikely. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === MAX_TRIES) throw new Error(`no ${count} free ports between ${FIRST_PORT} and ${LAST_PORT}`);
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    ports.push(port);
  }
  return ports;
}

/** One free TCP port on loopback. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => { resolve(false); });
    server.listen(port, '127.0.0.1', () => server.close(() => { resolve(true); }));
  });
}
