#!/usr/bin/env node
import { text } from 'node:stream/consumers';
import { HELP, parseCommand, SIMULATE_HELP, type Command } from './cli.js';
import { hashKey } from './config/hash-key.js';
import { formatProblems, problemLines, loadConfig } from './config/load.js';
import { summaryOf } from './config/summary.js';
import { runDemo } from './demo/demo.js';
import { serve } from './serve.js';
import { simulate } from './simulate.js';
import { VERSION } from './version.js';

/** Runs one command. @returns the exit code. */
async function main(command: Command): Promise<number> {
  switch (command.kind) {
    case 'help':
      process.stdout.write(HELP);
      return 0;
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      return 0;
    case 'usage':
      process.stderr.write(`tokenweir: ${command.message}\n\n${command.help}`);
      return 2;
    case 'hash-key':
      return printHash(command.key ?? (await keyFromInput()));
    case 'check':
      return check(command.config);
    case 'serve':
      return serveUntilStopped(command.config);
    case 'demo':
      return runDemo(command);
    case 'simulate-help':
      process.stdout.write(SIMULATE_HELP);
      return 0;
    case 'simulate':
      return simulate(command, (text) => process.stdout.write(text), (text) => process.stderr.write(text));
  }
}

/** The key alone, without the line's end. Says on a terminal what is waited for. */
async function keyFromInput(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('the key, Enter, Ctrl-D:\n');
  return (await text(process.stdin)).replace(/\r?\n$/, '');
}

function printHash(key: string): number {
  if (key === '') {
    process.stderr.write('tokenweir: the key is empty\n');
    return 2;
  }
  // Clients send it in a header, of which only the key itself is hashed.
  if (/[\s"']/.test(key)) process.stderr.write('warning: the key has spaces or quotes in it; they are part of what was hashed\n');
  process.stdout.write(`${hashKey(key)}\n`);
  return 0;
}

async function check(path: string): Promise<number> {
  const loaded = await loadConfig(path);
  if (!loaded.ok) {
    process.stderr.write(`${formatProblems(loaded.problems)}\n`);
    return 1;
  }
  for (const warning of problemLines(loaded.warnings)) process.stderr.write(`warning: ${warning}\n`);
  process.stdout.write(`${path}: right (${summaryOf(loaded.config)})\n`);
  return 0;
}

async function serveUntilStopped(path: string): Promise<number> {
  const serving = await serve(path);
  process.on('SIGHUP', () => {
    void serving.reload();
  });
  await new Promise<void>((stop) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));
  await serving.stop();
  return 0;
}

main(parseCommand(process.argv.slice(2))).then(
  (code) => {
    process.exit(code);
  },
  (error: unknown) => {
    process.stderr.write(`tokenweir: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
