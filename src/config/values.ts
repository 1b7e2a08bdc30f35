import { z } from 'zod';
import { parseSize, SIZE_PATTERN } from './size.js';

/** Values that several parts of the schema have. */

/** Of tenants and pools: they become parts of store keys, labels and headers. */
export const id = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, { error: 'must be 1 to 128 letters, digits, ".", "_", "@" or "-", and start with a letter or digit' });

export const glob = z.string().min(1).max(256);

/** Bytes as a number, or with a unit. `maxText`: the bound as somebody would write it. */
export function sizeUpTo(maxBytes: number, maxText: string) {
  return z.union([z.int().min(1).max(maxBytes), z.string().regex(SIZE_PATTERN)]).refine(
    (given) => {
      const bytes = parseSize(given);
      return bytes === null || (bytes >= 1 && bytes <= maxBytes);
    },
    { error: `must be at least 1 byte and at most ${maxText}` },
  );
}
