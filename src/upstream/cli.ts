import { parseArgs } from 'node:util';
import { createSimulatedUpstream } from './server.js';

/**
 * The simulated upstream as a process of its own: `node cli.js --port 4000 [--host H] [--time-scale 1] [--slots 8]`.
 * Prints `listening on URL` when it is ready and ends on SIGTERM or SIGINT.
 */
const OPTIONS = {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '4000' },
  'time-scale': { type: 'string', default: '1' },
  slots: { type: 'string', default: '8' },
  help: { type: 'boolean' },
} as const;
const USAGE = `usage: node dist/upstream/cli.js [--port 4000] [--host 127.0.0.1] [--time-scale 1] [--slots 8]

  --time-scale X  all durations × X: 10 is ten times as slow (a token each 0.12 s), 0 answers at once
  --slots N       sequences that run at one time; others wait`;

function given(): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'] | null {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}

const values = given();
if (values === null || values.help === true) {
  console.error(USAGE);
  process.exit(values === null ? 2 : 0);
}
const upstream = await createSimulatedUpstream({
  host: values.host,
  port: Number(values.port),
  timing: { timeScale: Number(values['time-scale']), slots: Number(values.slots) },
  maxRecorded: 0,
});
console.log(`listening on ${upstream.url}`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void upstream.close().then(() => process.exit(0));
  });
}
