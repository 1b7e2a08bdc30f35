import { parseArgs } from 'node:util';
import { createSimulatedUpstream } from './server.js';

/**
 * The simulated upstream as a process of its own: `node cli.js --port 4000 [--host H] [--time-scale 1] [--slots 8]`.
 * Prints `listening on URL` when it is ready and ends on SIGTERM or SIGINT.
 */
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '4000' },
    'time-scale': { type: 'string', default: '1' },
    slots: { type: 'string', default: '8' },
  },
});
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
