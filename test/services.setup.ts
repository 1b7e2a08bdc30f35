import type { TestProject } from 'vitest/node';
import { resolveEnvoy } from '../src/services/resolve.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the Envoy binary that all tests use. */
    envoyPath: string;
  }
}

/** Finds or installs Envoy before the first test that needs it. Fails loudly: these tests are never skipped. */
export default async function setup(project: TestProject): Promise<void> {
  const envoy = await resolveEnvoy({ progress: (line) => process.stdout.write(`${line}\n`) });
  process.stdout.write(`Envoy ${envoy.version ?? ''} (${envoy.from})\n`);
  project.provide('envoyPath', envoy.path);
}
