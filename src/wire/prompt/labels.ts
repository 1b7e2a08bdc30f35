import { MAX_REFERENCE_LENGTH, type RequestFacts } from '../../domain/request.js';
import { isObject, type JsonObject } from '../json/json.js';
import { isMarker } from '../json/texts.js';

/** Service tiers for work that nobody waits for. */
const BACKGROUND_TIERS = new Set(['flex', 'batch']);

/**
 * What a body says of its session and of the kind of its work. `sessionFields`: members of `metadata` that name the session in
 * this API, the best one first.
 */
export function labelsOf(body: JsonObject, sessionFields: readonly string[] = ['session_id']): Pick<RequestFacts, 'session' | 'work'> {
  const metadata = isObject(body['metadata']) ? body['metadata'] : {};
  const session = sessionFields.map((field) => metadata[field]).find((value) => value !== undefined && value !== null);
  const tier = body['service_tier'];
  return {
    session: typeof session === 'string' && session !== '' && session.length <= MAX_REFERENCE_LENGTH && !isMarker(session) ? session : null,
    work: typeof tier === 'string' && BACKGROUND_TIERS.has(tier) ? 'background' : null,
  };
}
