// Runs the start command of deploy/docker/Dockerfile on what the image holds: dist, proto and production dependencies.
// It must answer /healthz and the gRPC health check, and stop by itself on SIGTERM.
import { Buffer } from 'node:buffer';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const START_MS = 20_000;
const STOP_MS = 40_000;
const SERVING = '0801';

const say = (text) => process.stdout.write(`  ${text}\n`);

/** The words of ENTRYPOINT and CMD, with another configuration file. */
function startCommand(config) {
  const dockerfile = readFileSync('deploy/docker/Dockerfile', 'utf8');
  const words = ['ENTRYPOINT', 'CMD'].flatMap((name) => JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(dockerfile)[1]));
  return words.map((word) => (word.endsWith('.yaml') ? config : word));
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function installed(folder) {
  for (const name of ['dist', 'proto', 'package.json', 'package-lock.json', '.npmrc']) cpSync(name, join(folder, name), { recursive: true });
  execFileSync('npm', ['ci', '--omit=dev', '--silent'], { cwd: folder, stdio: 'inherit' });
  say('installed without development dependencies');
}

async function until(what, timeoutMs, probe) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const problem = await probe().then(() => null, (error) => error);
    if (problem === null) return say(what);
    if (Date.now() > deadline) throw new Error(`not in ${timeoutMs} ms: ${what} (${problem.message})`);
    await sleep(100);
  }
}

async function httpHealth(port) {
  const response = await globalThis.fetch(`http://127.0.0.1:${port}/healthz`);
  if (!response.ok) throw new Error(`status ${response.status}`);
}

/** grpc.health.v1.Health/Check, without its proto: an empty request, and SERVING is the two bytes 08 01. */
function grpcHealth(folder, port) {
  const grpc = createRequire(join(folder, 'package.json'))('@grpc/grpc-js');
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const answer = new Promise((resolve, reject) => {
    const same = (bytes) => bytes;
    client.makeUnaryRequest('/grpc.health.v1.Health/Check', same, same, Buffer.alloc(0), (error, bytes) => {
      if (error) reject(error);
      else if (bytes.toString('hex') !== SERVING) reject(new Error(`answered ${bytes.toString('hex')}`));
      else resolve(undefined);
    });
  });
  return answer.finally(() => client.close());
}

async function check(folder) {
  installed(folder);
  const [grpcPort, adminPort] = [await freePort(), await freePort()];
  const config = join(folder, 'check.yaml');
  writeFileSync(config, `server: { extProc: "127.0.0.1:${grpcPort}", admin: "127.0.0.1:${adminPort}" }\ntenants: [{ id: check }]\n`);
  const [, ...args] = startCommand(config);
  say(`node ${process.version}: node ${args.join(' ')}`);
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  try {
    const alive = (probe) => async () => {
      if (child.exitCode !== null) throw new Error(`the processor ended with ${child.exitCode}`);
      await probe();
    };
    await until('/healthz answers', START_MS, alive(() => httpHealth(adminPort)));
    await until('gRPC health says SERVING', START_MS, alive(() => grpcHealth(folder, grpcPort)));
    child.kill('SIGTERM');
    const code = await Promise.race([ended, sleep(STOP_MS, 'still running', { ref: false })]);
    if (code !== 0) throw new Error(`after SIGTERM: ${code}`);
    say('stopped on SIGTERM with exit code 0');
  } finally {
    child.kill('SIGKILL');
  }
}

const folder = mkdtempSync(join(tmpdir(), 'tokenweir-start-'));
try {
  await check(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
