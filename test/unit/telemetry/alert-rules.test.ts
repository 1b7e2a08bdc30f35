import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const PATH = fileURLToPath(new URL('../../../deploy/prometheus/tokenweir.rules.yml', import.meta.url));
const rules = (parse(readFileSync(PATH, 'utf8')) as Rules).groups.flatMap((group) => group.rules);

const DASHBOARD = fileURLToPath(new URL('../../../deploy/grafana/pools.json', import.meta.url));

describe('the dashboard', () => {
  it('has panels with a query each', () => {
    const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: { id: number; type: string; targets: { expr: string }[] }[] };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(panels.every(({ targets }) => targets.length > 0 && targets.every(({ expr }) => expr.includes('pool')))).toBe(true);
  });
});

describe('alert rules', () => {
  it('look at the fail-open counter under the name that our own Envoy configurations give it', () => {
    const expr = rules.find(({ alert }) => alert === 'TokenweirFailOpen')?.expr ?? '';
    const prefix = /envoy_http_ext_proc_(\w+)_failure_mode_allowed/.exec(expr)?.[1];
    for (const name of ['envoy.yaml', 'envoy.duplex.yaml']) {
      const config = readFileSync(fileURLToPath(new URL(`../../../envoy/${name}`, import.meta.url)), 'utf8');
      const filter = config.slice(config.indexOf('ext_proc.v3.ExternalProcessor'));
      expect(/stat_prefix: (\w+)/.exec(filter)?.[1]).toBe(prefix);
    }
  });
});
