import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Takes the arguments of `llama-server` that we use, and runs the same C++ server from its Python package. */
const LAUNCHER = `import argparse, time
import xllamacpp

a = argparse.ArgumentParser()
for name, kind in [("-m", str), ("--alias", str), ("--host", str), ("--port", int), ("-t", int), ("-np", int), ("-c", int), ("-ngl", int), ("--device", str)]:
    a.add_argument(name, type=kind)
for name in ["--metrics", "--slots", "--no-webui"]:
    a.add_argument(name, action="store_true")
o = a.parse_args()
p = xllamacpp.CommonParams()
p.model.path = o.m
p.model_alias = {o.alias}
p.hostnames = [o.host]
p.port = o.port
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = o.t
p.n_parallel, p.n_ctx, p.n_gpu_layers = o.np, o.c, o.ngl
p.endpoint_metrics, p.endpoint_slots, p.ui = o.metrics, o.slots, not o.no_webui
server = xllamacpp.Server(p)
while True:
    time.sleep(3600)
`;

const SCRIPT = `#!/bin/sh
here=$(dirname "$0")
exec "$here/venv/bin/python" "$here/launcher.py" "$@"
`;

/** Writes an executable `llama-server` into the part's folder, so that it is started like any other. */
export async function writeLlamaLauncher(dir: string): Promise<void> {
  await writeFile(join(dir, 'launcher.py'), LAUNCHER);
  await writeFile(join(dir, 'llama-server'), SCRIPT);
  await chmod(join(dir, 'llama-server'), 0o755);
}
