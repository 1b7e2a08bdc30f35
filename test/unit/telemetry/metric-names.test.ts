import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Metrics } from '../../../src/telemetry/metrics.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Begin as a metric's name does, and are none: fields of Envoy's access log, and its counter of the filter of that name. */
const NO_METRICS = new Set(['tokenweir_request_id', 'tokenweir_failure_mode_allowed']);
const NAME = /\b(?:tokenweir|process|nodejs)_[a-z_0-9]*[a-z0-9]\b/g;
/** A name with labels behind it, as queries and prose write them; quotes are escaped in JSON. */
const SELECTOR = /\b(tokenweir_[a-z_0-9]+)\{([^}]*)\}/g;

/** Paths of all texts that may name metrics. */
function texts(): string[] {
  const folders = ['deploy', 'docs', 'envoy'].flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)));
  return [...folders, 'README.md', 'docker-compose.yml', 'tokenweir.example.yaml'].filter((name) => /\.(md|ya?ml|json)$/.test(name));
}

const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

interface Registered {
  readonly types: ReadonlyMap<string, string>;
  /** Names as they are scraped: a histogram's are three. */
  readonly scraped: ReadonlySet<string>;
  /** Those whose values are known from the start: label → its values. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;
}

async function registered(): Promise<Registered> {
  const metrics = new Metrics({ version: '0', processMetrics: true });
  const { body } = await metrics.text();
  metrics.close();
  const types = new Map([...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const scraped = [...types].flatMap(([name, type]) => (type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]));
  const values = new Map<string, Map<string, Set<string>>>();
  for (const [, name = '', label = '', value = ''] of body.matchAll(/^(tokenweir_\w+)\{(\w+)="([^"]*)"\} 0$/gm)) {
    const labels = values.get(name) ?? new Map<string, Set<string>>();
    labels.set(label, (labels.get(label) ?? new Set()).add(value));
    values.set(name, labels);
  }
  return { types, scraped: new Set(scraped), values };
}

interface Row {
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly labels: readonly string[];
  readonly what: string;
}

const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

/** The table of metrics in operations.md. `…_share` stands for a name that begins as the first of its row. */
function documented(): Row[] {
  const table = read('docs/operations.md').split('\n').filter((line) => /^\| `tokenweir_\w+`(, `[^`]+`)* \| (counter|gauge|histogram)/.test(line));
  return table.map((line) => {
    const [, names = '', types = '', labels = '', ...what] = line.split(' | ').join('|').split('|');
    const [first = '', ...others] = quoted(names);
    const start = /^tokenweir_[a-z]+/.exec(first)![0];
    return { names: [first, ...others.map((name) => name.replace('…', start))], types: types.trim().split(', '), labels: quoted(labels), what: what.join('|') };
  });
}

let known: Registered;
beforeAll(async () => {
  known = await registered();
});

describe('metrics that are named anywhere outside the code', () => {
  const named = texts().map((file) => ({ file, text: read(file) }));

  it.each(named.filter(({ text }) => text.match(NAME) !== null).map(({ file }) => file))('exist: %s', (file) => {
    const names = read(file).match(NAME) ?? [];
    const isKnown = (name: string): boolean => known.types.has(name) || known.scraped.has(name) || NO_METRICS.has(name);
    expect([...new Set(names)].filter((name) => !isKnown(name))).toEqual([]);
  });

  it('are found where they are used most', () => {
    const counts = (file: string): number => read(file).match(NAME)?.length ?? 0;
    for (const file of ['deploy/prometheus/tokenweir.rules.yml', 'deploy/grafana/pools.json', 'deploy/kubernetes/scaling.yaml', 'docs/pools.md']) expect(counts(file), file).toBeGreaterThan(2);
  });

  it('are queried under a histogram’s three names, never under its own', () => {
    const queries = named.filter(({ file }) => file.startsWith('deploy') && !file.endsWith('.md'));
    for (const { file, text } of queries) {
      const code = text.replace(/^\s*#.*$/gm, '');
      expect((code.match(NAME) ?? []).filter((name) => !known.scraped.has(name) && !NO_METRICS.has(name)), file).toEqual([]);
    }
  });

  it('are chosen by labels that they have, and by values that these can have', () => {
    const rows = documented();
    const labelsOf = (name: string): readonly string[] => rows.find(({ names }) => names.includes(name.replace(/_(bucket|sum|count)$/, '')))?.labels ?? [];
    const selectors = named.flatMap(({ file, text }) => [...text.matchAll(SELECTOR)].map(([, name = '', inside = '']) => ({ file, name, inside: inside.replaceAll('\\"', '"') })));
    expect(selectors.length).toBeGreaterThan(20);
    const wrong = selectors.flatMap(({ file, name, inside }) =>
      [...inside.matchAll(/(\w+)\s*(?:=~?\s*"([^"]*)")?/g)].flatMap(([, label = '', value]) => {
        if (!labelsOf(name).includes(label)) return [`${file}: ${name} has no label ${label}`];
        const possible = known.values.get(name)?.get(label);
        const strange = possible === undefined || value === undefined || value === 'KIND' ? [] : value.split('|').filter((one) => !possible.has(one));
        return strange.map((one) => `${file}: ${label} of ${name} is never ${one}`);
      }),
    );
    expect(wrong).toEqual([]);
  });
});

describe('the table of metrics in operations.md', () => {
  it('has each metric once, with its type', () => {
    const told = documented().flatMap(({ names, types }) => names.map((name, i) => `${name} ${types[i] ?? types[0] ?? ''}`));
    const own = [...known.types].filter(([name]) => name.startsWith('tokenweir_')).map(([name, type]) => `${name} ${type}`);
    expect(told.sort()).toEqual(own.sort());
  });

  it('has each value that a label can have, where these are known from the start', () => {
    const missing = documented().flatMap(({ names, what }) =>
      [...(known.values.get(names[0]!) ?? [])].flatMap(([label, values]) => [...values].filter((value) => !quoted(what).includes(value)).map((value) => `${names[0]!} ${label} ${value}`)),
    );
    expect(missing).toEqual([]);
  });
});

describe('alerts and jobs', () => {
  const rules = read('deploy/prometheus/tokenweir.rules.yml');

  it('are named in the docs as they are in the rules', () => {
    const alerts = new Set([...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name));
    const told = texts().filter((file) => file.endsWith('.md')).flatMap((file) => [...read(file).matchAll(/`(Tokenweir[A-Z]\w+)`/g)].map(([, name]) => name));
    expect(told.length).toBeGreaterThan(3);
    expect(told.filter((name) => !alerts.has(name))).toEqual([]);
  });

  it('are of jobs that the example of a Prometheus has', () => {
    const { scrape_configs: jobs } = parse(read('deploy/prometheus/prometheus.yml')) as { scrape_configs: { job_name: string }[] };
    const used = [...rules.matchAll(/job="([^"]+)"/g)].map(([, name]) => name);
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((name) => !jobs.some(({ job_name: job }) => job === name))).toEqual([]);
  });
});
