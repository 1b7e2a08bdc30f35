import type { WireApi } from '../../domain/wire.js';
import { bedrockConverse, bedrockInvoke } from './bedrock.js';

const START = '/model/';

const CALLS: ReadonlyMap<string, (model: string) => WireApi> = new Map([
  ['converse', (model) => bedrockConverse(model, false)],
  ['converse-stream', (model) => bedrockConverse(model, true)],
  ['invoke', (model) => bedrockInvoke(model, false)],
  ['invoke-with-response-stream', (model) => bedrockInvoke(model, true)],
]);

/** Times that a name may have been escaped over and over; more than any chain of gateways does. */
const MOST_ESCAPED = 4;

/**
 * The call of Bedrock's runtime API at a path in its normal form, without a gateway's prefix; null for all others. The last segment
 * tells the call, and all between is the model: an ARN has a slash of its own.
 */
export function bedrockRoute(path: string): WireApi | null {
  const last = path.lastIndexOf('/');
  if (!path.startsWith(START) || last <= START.length) return null;
  return CALLS.get(path.slice(last + 1))?.(unescaped(path.slice(START.length, last))) ?? null;
}

/**
 * A name as its model is called. Clients and gateways escape an ARN that is escaped already; no model has a percent sign in its name, so
 * all spellings are the same model and share its limits.
 */
function unescaped(name: string): string {
  let plain = name;
  for (let times = 0; times < MOST_ESCAPED && plain.includes('%'); times++) {
    plain = plain.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  }
  return plain;
}
