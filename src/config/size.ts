const FACTOR: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };

/** How a size is written, beside a plain number of bytes. */
export const SIZE_PATTERN = /^[0-9]+(\.[0-9]+)?(B|KiB|MiB|GiB|TiB)$/;

/** Bytes of `16MiB`, `1.5GiB`, `512B` or a number; null if it is none of them. Rounds down to whole bytes. */
export function parseSize(size: string | number): number | null {
  if (typeof size === 'number') return size;
  if (!SIZE_PATTERN.test(size)) return null;
  const [, amount, unit] = /^([0-9.]+)([A-Za-z]+)$/.exec(size) ?? [];
  return Math.floor(Number(amount) * (FACTOR[unit ?? ''] ?? 1));
}
