import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../src/services/resolve.js';
import { FIGURES } from './figures.js';
import { HELP, parseOptions, type Options } from './options.js';
import { isMet, tableOf, type Row } from './report.js';
import { startRig } from './rig.js';

async function bench(options: Options): Promise<void> {
  const rig = await startRig(options);
  const rows: Row[] = [];
  try {
    for (const number of options.only) {
      process.stderr.write(`figure ${number} `);
      const measured = await FIGURES.get(number)!(rig, options);
      rows.push(...measured);
      process.stderr.write(`${tableOf(measured)}\n`);
    }
  } finally {
    await rig.stop();
  }
  const { rounds, roundMs, quick, envoyConfig, redis } = options;
  const setting = `${envoyConfig}, ${redis ? 'Redis' : 'memory'}, ${rounds} rounds of ${roundMs / 1000} s${quick ? ', quick' : ''}, Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`;
  process.stdout.write(`\n${tableOf(rows)}\n\n${setting}\n`);
  const result = { at: new Date().toISOString(), setting, rows: rows.map((row) => ({ ...row, met: isMet(row) })) };
  await mkdir(join(PROJECT_ROOT, '.cache'), { recursive: true });
  await writeFile(join(PROJECT_ROOT, '.cache', 'bench.json'), `${JSON.stringify(result, null, 2)}\n`);
}

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === null) process.stdout.write(HELP);
  else await bench(options);
  process.exit(0);
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
