import type { TestProject } from 'vitest/node';
import { resolveEnvoy } from '../src/services/resolve.js';
import { redisBinary } from './support/redis-binary.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the Envoy binary that all tests use. */
    envoyPath: string;
  }
}

/** Finds or installs Envoy and Redis before the first test that needs them. Fails loudly: these tests are never skipped. */
export default async function setup(project: TestProject): Promise<void> {
  const envoy = await resolveEnvoy({ progress: (line) => process.stdout.write(`${line}\n`) });
  process.stdout.write(`Envoy ${envoy.version ?? ''} (${envoy.from})\n`);
  process.stdout.write(`Redis (${await redisBinary()})\n`);
  project.provide('envoyPath', envoy.path);
}
