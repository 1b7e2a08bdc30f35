import type { Fields } from './json/fields.js';
import { isObject } from './json/json.js';

/** Fields that tell what a request costs, in the APIs whose bodies servers read in ways of their own. */
const TELLING: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'prompt', 'input', 'instructions', 'system', 'tools', 'functions', 'documents', 'suffix', 'template', 'context', 'images', 'response_format', 'text', 'format'],
  ...['stream', 'stream_options', 'options', 'background', 'n', 'best_of', 'max_tokens', 'max_completion_tokens', 'max_output_tokens', 'previous_response_id', 'conversation', 'thinking'],
]);
/** What clients of OpenAI's put over the body before they send it. LiteLLM is such a client of what is behind it. */
const OVER_THE_BODY = 'extra_body';
const USUAL = /^[a-z0-9_]*$/;

/**
 * Refuses a body that some server reads as another one than is read here: with fields in `extra_body` that LiteLLM puts over those of the
 * body, or spelled so that servers in Go (Ollama), which don't tell case apart, take them for others.
 */
export function refuseSecondMeanings(fields: Fields): void {
  const over = fields.body[OVER_THE_BODY];
  const hidden = isObject(over) ? Object.keys(over).find((key) => TELLING.has(folded(key)) || key === OVER_THE_BODY) : undefined;
  if (hidden !== undefined) fail(fields, `${OVER_THE_BODY}.${folded(hidden)}`, 'must stand in the body itself.');
  const spelled = Object.keys(fields.body).find((key) => !USUAL.test(key) && TELLING.has(folded(key)));
  if (spelled !== undefined) fail(fields, folded(spelled), 'must be written in small letters.');
}

function fail(fields: Fields, path: string, how: string): void {
  fields.fail('out_of_range', path, `The field \`${path}\` ${how}`);
}

/** As Go compares names: without case, the long s and the sign of the kelvin included. */
function folded(key: string): string {
  return key.toUpperCase().toLowerCase();
}
