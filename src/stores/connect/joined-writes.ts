import type { Duplex } from 'node:stream';
import { Cluster, type Redis } from 'ioredis';

/**
 * Writes what one turn of the event loop sends with one system call. By itself the client writes each command on its own, which takes two
 * thirds of all that the store costs a busy processor. Nothing waits longer than until the turn ends.
 */
export function joinWrites(client: Redis | Cluster): void {
  if (client instanceof Cluster) {
    client.on('+node', joinWritesOf);
  } else {
    joinWritesOf(client);
  }
}

/** Each connection has a stream of its own. */
function joinWritesOf(client: Redis): void {
  client.on('connect', () => {
    joinWritesOn(client.stream);
  });
}

export function joinWritesOn(stream: Duplex): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let held = false;
  const hold = (): void => {
    if (held) return;
    held = true;
    stream.cork();
    setImmediate(() => {
      held = false;
      stream.uncork();
    });
  };
  stream.write = (...args: unknown[]): boolean => {
    hold();
    return write(...args);
  };
}
