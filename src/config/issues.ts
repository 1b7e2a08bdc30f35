import type { z } from 'zod';
import { mappingAt } from './fields.js';
import type { Finding, Path } from './problem.js';
import { schema } from './schema.js';
import { didYouMean, nearest } from './suggest.js';

type Issue = z.core.$ZodIssue;

/** Parts of the configuration that later versions have. */
const LATER = new Set(['budget', 'pressure', 'nodes', 'heavyPromptTokens', 'maxHeavyPerNode']);
const NAMES: Record<string, string> = { object: 'a mapping', record: 'a mapping', array: 'a list', string: 'text', int: 'a whole number', number: 'a whole number', boolean: 'true or false' };

/** Checks a document against the schema. Returns it with its defaults, or everything that is wrong with it. */
export function checkSchema(raw: unknown): { readonly document: z.output<typeof schema> | null; readonly findings: Finding[] } {
  const result = schema.safeParse(raw, { error: messageOf });
  if (result.success) return { document: result.data, findings: [] };
  return { document: null, findings: result.error.issues.flatMap((issue) => findingsOf(issue, [])) };
}

/** What is wrong, in words; never with the value that was given, which may be a secret. */
function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeMessage([String(issue.expected)], issue.input);
    case 'invalid_value': {
      if (issue.input === undefined || issue.input === null) return typeMessage(['string'], issue.input);
      const values = issue.values.map(String);
      const hint = typeof issue.input === 'string' ? didYouMean(nearest(issue.input, values)) : `, not ${kindOf(issue.input)}`;
      return `must be one of ${values.join(', ')}${hint}`;
    }
    case 'too_small':
      return `must ${boundOf(issue.origin, 'at least', Number(issue.minimum))}`;
    case 'too_big':
      return `must ${boundOf(issue.origin, 'at most', Number(issue.maximum))}`;
    case 'invalid_format':
      return 'must be a number of bytes, or a size such as 16MiB (B, KiB, MiB, GiB, TiB)';
    default:
      return 'is not valid';
  }
}

function boundOf(origin: string, bound: string, value: number): string {
  if (origin === 'string') return `have ${bound} ${value} characters`;
  if (origin === 'array') return `have ${bound} ${value} ${value === 1 ? 'entry' : 'entries'}`;
  return `be ${bound} ${value}`;
}

function typeMessage(expected: readonly string[], input: unknown): string {
  if (input === undefined) return 'is required';
  if (input === null) return 'has no value: give it one, or leave the line out';
  const wanted = [...new Set(expected.map((type) => NAMES[type] ?? type))].join(' or ');
  const quote = expected.includes('string') && (typeof input === 'number' || typeof input === 'boolean') ? ' (put it in quotes)' : '';
  return `must be ${wanted}, not ${kindOf(input)}${quote}`;
}

function kindOf(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'number') return Number.isInteger(input) ? 'a number' : 'a number with a fraction';
  if (typeof input === 'boolean') return 'true or false';
  return typeof input === 'object' ? 'a mapping' : 'text';
}

function findingsOf(issue: Issue, above: Path): Finding[] {
  const path = [...above, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(path, key));
  if (issue.code === 'invalid_union') return unionFindings(issue, path);
  return [{ path, message: issue.message, at: 'value' }];
}

/** Of alternatives, the one whose outer type is right is what was meant; if none is, all are named. */
function unionFindings(issue: Extract<Issue, { code: 'invalid_union' }>, path: Path): Finding[] {
  const outer = (issues: readonly Issue[]): Issue | undefined => issues.find((one) => one.code === 'invalid_type' && one.path.length === 0);
  const meant = issue.errors.find((issues) => outer(issues) === undefined);
  if (meant !== undefined) return meant.flatMap((one) => findingsOf(one, path));
  const messages = issue.errors.map((issues) => outer(issues)?.message ?? '').filter((message) => message !== '');
  return [{ path, message: joinAlternatives(messages), at: 'value' }];
}

/** `must be a mapping, not text` and `must be a list, not text` → `must be a mapping or a list, not text`. */
function joinAlternatives(messages: readonly string[]): string {
  const parts = messages.map((message) => /^must be (.*), (not .*)$/.exec(message));
  const last = parts.at(-1);
  if (last === null || last === undefined) return messages[0] ?? 'is not valid';
  return `must be ${parts.map((part) => part?.[1] ?? '').join(' or ')}, ${last[2] ?? ''}`;
}

function unknownKey(path: Path, key: string): Finding {
  const message = LATER.has(key) ? `"${key}" is not supported by this version` : `unknown key${suggestion(path, key)}`;
  return { path: [...path, key], message, at: 'key' };
}

function suggestion(path: Path, key: string): string {
  if (key === '<<') return ' (merge keys are not read: use an alias for the whole value)';
  const known = Object.keys(mappingAt(schema, path)?.shape ?? {});
  const near = nearest(key, known);
  return near === null ? `; known here: ${known.join(', ')}` : didYouMean(near);
}
