import { parseConfig, problemLines, type Problem } from '../../../src/config/load.js';

/** Warnings of a configuration without problems. Each `KEY` in it becomes a key of its own, so that requests can be of its tenant. */
export function loadedWarnings(text: string): string[] {
  return warnedOf(text).map(({ message }) => message);
}

/** The same with their places, as `tokenweir check` prints them. */
export function placedWarnings(text: string): string[] {
  return problemLines(warnedOf(text));
}

function warnedOf(text: string): readonly Problem[] {
  let keys = 0;
  const whole = text.replaceAll('KEY', () => `keys: ["sha256:${String(++keys).padStart(64, '0')}"]`);
  const result = parseConfig(whole, 'c.yaml');
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.warnings;
}
