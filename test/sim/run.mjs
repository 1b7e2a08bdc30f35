// Usage: node test/sim/run.mjs SCRIPT [options], of a script test/sim/SCRIPT.ts
import process from 'node:process';
import { runTranspiled } from '../support/run-transpiled.mjs';

const [script, ...rest] = process.argv.slice(2);
await runTranspiled('sim', script, rest);
