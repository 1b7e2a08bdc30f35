import type { Outside } from './outside.js';

/** Where a secret stands: as it is or as `env:NAME`, or in a file. */
export interface SecretSource {
  readonly value: string | null;
  readonly file: string | null;
}

const ENV_PREFIX = 'env:';

/** The secret itself, without space around it where it comes from outside; null where there is none. */
export function secretOf({ value, file }: SecretSource, outside: Outside): string | null {
  if (isFromEnvironment(value)) return outside.env[value.slice(ENV_PREFIX.length)]?.trim() || null;
  if (value !== null) return value || null;
  const content = file === null ? undefined : outside.files.get(file);
  return content?.ok === true ? content.text.trim() || null : null;
}

/** Whether the text names an environment variable instead of being the value. */
export function isFromEnvironment(text: string | null): text is string {
  return text?.startsWith(ENV_PREFIX) === true;
}

/** Whether there is to be one. */
export function isSecretSet({ value, file }: SecretSource): boolean {
  return value !== null || file !== null;
}
