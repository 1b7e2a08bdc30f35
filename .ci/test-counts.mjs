// Prints what a run of vitest came to, from its JSON report, as one line that a machine can read.
// Exit code 1 where nothing passed or something failed.
import { readFileSync } from 'node:fs';
import process from 'node:process';

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const tests = report.testResults.flatMap((file) => file.assertionResults);
const count = (...states) => tests.filter((test) => states.includes(test.status)).length;
// A file that could not even be loaded has no tests, and is a failure all the same.
const brokenFiles = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0);

const passed = count('passed');
const failed = count('failed') + brokenFiles.length;
const skipped = count('skipped', 'pending', 'todo', 'disabled');
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
