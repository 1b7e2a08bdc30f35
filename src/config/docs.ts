import { z } from 'zod';
import { fieldDocs, mappingIn, unwrap, type FieldDoc } from './fields.js';
import { schema } from './schema.js';

interface Field {
  /** As in `tenants[].limits[].burstSeconds`. */
  readonly path: string;
  readonly schema: z.core.$ZodType;
  readonly doc: FieldDoc;
}

/** The reference of the configuration as Markdown, made from the schema. */
export function configurationMarkdown(example: string): string {
  const fields = fieldsOf(schema, '');
  const rows = fields.map((field) => `| \`${field.path}\` | ${typeText(field.schema)} | ${defaultText(field)} | ${cell(field.doc.description)} | ${cell(field.doc.fallback?.reason ?? '')} |`);
  return [
    '# Configuration',
    '',
    '<!-- Made by `npm run docs` from src/config/schema.ts. Changes belong there. -->',
    '',
    'One YAML file. `tokenweir check --config FILE` tells all that is wrong with it at once, each with line and field. Unknown keys are errors.',
    'Editors complete and check it with [configuration.schema.json](configuration.schema.json).',
    '',
    'A change of the file, or SIGHUP, reloads it: all of it or, if anything is wrong, none of it, and the log says what. Streams go on.',
    'What stands under `server`, the store and its fields (`store…`, `onStoreFailure`, `journal`, `ledger`) and the admin token change only with a restart: until then a change there is ignored, with a warning in the log.',
    'Lists of models hold globs: `*` stands for any characters, `?` for one; case matters. YAML aliases may be used, merge keys (`<<`) not.',
    '',
    'Paths of files that are not absolute start at the configuration file’s folder. The folder of `journal.file` is made where it is missing, that of `ledger.file` is not.',
    '',
    'Keys of clients are never in the file: put what `tokenweir hash-key KEY` prints. The admin token and the store’s passwords may come from the environment (`adminToken: env:NAME`) or a file (`adminTokenFile`).',
    '',
    '## Fields',
    '',
    '| field | value | default | what it does | why this default |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    '## All fields in one file',
    '',
    '```yaml',
    ...exampleLines(schema, 0),
    '```',
    '',
    '## A file to start from',
    '',
    'The same as `tokenweir.example.yaml`:',
    '',
    '```yaml',
    example.trimEnd(),
    '```',
    '',
  ].join('\n');
}

/** The same schema for editors. */
export function configurationJsonSchema(): string {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const doc = fieldDocs.get(zodSchema as unknown as z.ZodType);
      if (doc === undefined) return;
      const reason = doc.fallback === null ? '' : ` Default: ${doc.fallback.reason}`;
      jsonSchema.description = `${doc.description}${reason}`;
    },
  });
  return `${JSON.stringify({ ...json, title: 'Tokenweir configuration' }, null, 2)}\n`;
}

function fieldsOf(mapping: z.ZodObject, above: string): Field[] {
  return Object.entries(mapping.shape).flatMap(([name, field]) => {
    const path = `${above}${name}`;
    const inner = mappingIn(field);
    const below = inner === null ? [] : fieldsOf(inner, `${path}${isList(field) ? '[]' : ''}.`);
    return [{ path, schema: field, doc: docOf(field, path) }, ...below];
  });
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function defaultText({ doc }: Field): string {
  if (doc.fallback === null) return doc.example === undefined ? '' : '**required**';
  if (doc.fallback.value === undefined) return 'none';
  const value = JSON.stringify(doc.fallback.value).replace(/^"(.*)"$/, '$1');
  return `\`${value}\`${typeof doc.fallback.value === 'number' && doc.fallback.unit !== null ? ` ${doc.fallback.unit}` : ''}`;
}

function typeText(field: z.core.$ZodType): string {
  const inner = unwrap(field);
  if (inner instanceof z.ZodEnum) return inner.options.map((option) => `\`${String(option)}\``).join(', ');
  if (inner instanceof z.ZodLiteral) return [...inner.values].map((value) => `\`${String(value)}\``).join(', ');
  if (inner instanceof z.ZodNumber) return `${inner.isInt ? 'whole number' : 'number'}, ${inner.minValue} to ${inner.maxValue}`;
  if (inner instanceof z.ZodBoolean) return 'true or false';
  if (inner instanceof z.ZodString) return 'text';
  if (inner instanceof z.ZodArray) return inner.element instanceof z.ZodObject ? 'list of mappings' : 'list of text';
  if (inner instanceof z.ZodUnion) return mappingIn(inner) === null ? 'bytes, or a size such as `16MiB`' : inner.options.map(typeText).join(', or ');
  return 'mapping';
}

/** Every field with an example value, in the form of a file that loads; mappings that are off by default as comments. */
function exampleLines(mapping: z.ZodObject, indent: number): string[] {
  const pad = ' '.repeat(indent);
  return Object.entries(mapping.shape).flatMap(([name, field]) => {
    const doc = docOf(field, name);
    const about = `# ${doc.description}`;
    const inner = mappingIn(field);
    if (inner === null) return [`${pad}${name}: ${exampleValue(doc)} ${about}`];
    if (isList(field)) {
      const [first = '', ...rest] = exampleLines(inner, indent + 4);
      return [`${pad}${name}: ${about}`, `${pad}  - ${first.trimStart()}`, ...rest];
    }
    if (doc.fallback?.value === null) return [`${pad}${name}: null ${about}`, ...exampleLines(inner, 2).map((line) => `${pad}# ${line}`)];
    return [`${pad}${name}: ${about}`, ...exampleLines(inner, indent + 2)];
  });
}

function exampleValue(doc: FieldDoc): string {
  const value = doc.example ?? doc.fallback?.value ?? null;
  return typeof value === 'string' && /^[\w./:-]+$/.test(value) ? value : JSON.stringify(value);
}

function docOf(field: z.core.$ZodType, name: string): FieldDoc {
  const doc = fieldDocs.get(field as z.ZodType);
  if (doc === undefined) throw new Error(`${name} is not documented`);
  return doc;
}

/** Whether the mapping in a field is one of several. */
function isList(field: z.core.$ZodType): boolean {
  return mappingIn(field) !== null && !(unwrap(field) instanceof z.ZodObject);
}
