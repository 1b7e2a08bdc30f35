// Usage: node test/estimate/run.mjs fit|prefill-table|learning-table|hold-out [options]
import process from 'node:process';
import { runTranspiled } from '../support/run-transpiled.mjs';

const [script = 'prefill-table', ...rest] = process.argv.slice(2);
await runTranspiled('estimate', script, rest);
