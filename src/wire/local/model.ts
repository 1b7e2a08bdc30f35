import type { Fields } from '../json/fields.js';

/** What a model is called that a request does not name: servers that hold one model don't ask for its name. Limits and allow-lists see this. */
export const UNNAMED_MODEL = 'default';

/** The model's name, or `UNNAMED_MODEL`; empty after a fault. */
export function modelOf(fields: Fields): string {
  return (fields.body['model'] ?? '') === '' ? UNNAMED_MODEL : fields.model();
}
