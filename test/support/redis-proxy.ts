import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between a client and its server and does what networks do. */
export interface FaultProxy {
  readonly port: number;
  /** What comes from the server is held back so long from now on, in milliseconds. 0: not. */
  delayReplies(ms: number): void;
  /**
   * The next `count` pieces that a client sends reach the server, and its answers are lost: the connection ends when they come. What was
   * sent was done, and who sent it can't know.
   */
  loseReplies(count: number): void;
  /** All that comes from either side is swallowed while this is set: connections stay and nothing arrives. */
  swallow(on: boolean): void;
  /** Ends every connection. */
  cut(): void;
  /** Takes no connections any more, or does again. */
  refuse(on: boolean): void;
  close(): Promise<void>;
}

interface Faults {
  delayMs: number;
  toLose: number;
  swallow: boolean;
  refuse: boolean;
}

/** Starts a proxy to a port of loopback. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const faults: Faults = { delayMs: 0, toLose: 0, swallow: false, refuse: false };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (faults.refuse) client.destroy();
    else pipe(client, connect(target, '127.0.0.1'), faults, sockets);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    delayReplies: (ms) => {
      faults.delayMs = ms;
    },
    loseReplies: (count) => {
      faults.toLose = count;
    },
    swallow: (on) => {
      faults.swallow = on;
    },
    cut,
    refuse: (on) => {
      faults.refuse = on;
      if (on) cut();
    },
    close: async () => {
      cut();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function pipe(client: Socket, server: Socket, faults: Faults, sockets: Set<Socket>): void {
  let losing = false;
  const held: { readonly piece: Buffer; readonly dueMs: number }[] = [];
  const end = (): void => {
    client.destroy();
    server.destroy();
    sockets.delete(client);
    sockets.delete(server);
  };
  /** What came first goes first, also where the delay became less since. */
  const passOn = (): void => {
    for (let first = held[0]; first !== undefined; first = held[0]) {
      const leftMs = first.dueMs - performance.now();
      if (leftMs > 0) {
        setTimeout(passOn, Math.ceil(leftMs));
        return;
      }
      client.write(first.piece);
      held.shift();
    }
  };
  for (const socket of [client, server]) {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', end);
    socket.on('close', end);
  }
  client.on('data', (piece) => {
    if (faults.swallow) return;
    if (faults.toLose > 0) {
      faults.toLose--;
      losing = true;
    }
    server.write(piece);
  });
  server.on('data', (piece) => {
    if (losing) return end();
    if (faults.swallow) return;
    held.push({ piece, dueMs: performance.now() + faults.delayMs });
    if (held.length === 1) passOn();
  });
}
