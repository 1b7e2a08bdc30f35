import type { Media } from '../domain/request.js';

/** Tokens of one picture by its size in pixels. */
type ImageRule = (widthPx: number, heightPx: number, detail: Media['detail']) => number;

/** Where the size is not known. */
const UNKNOWN_IMAGE = 250;
/** No header is believed beyond this. */
const MAX_SIDE_PX = 30_000;
/** Of text in a file. */
const BYTES_PER_TOKEN = 4;

/** OpenAI, tiles: fit into 2048 × 2048, short side to 768, then `base` and `tile` for each 512 × 512. */
function tiles(base: number, tile: number): ImageRule {
  return (width, height, detail) => {
    if (detail === 'low') return base;
    const fit = Math.min(1, 2048 / Math.max(width, height));
    const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit));
    return base + tile * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
  };
}

/** OpenAI, patches of 32 × 32 px, at most 1,536 of them, times a factor of the model. */
function patches(factor: number, most = 1536): ImageRule {
  return (width, height, detail) => {
    const wanted = Math.ceil(width / 32) * Math.ceil(height / 32);
    return factor * Math.min(detail === 'low' ? 256 : most, wanted);
  };
}

/** Anthropic: long edge to 1568 px, then w·h/750, about 1,600 at most. */
function anthropic(width: number, height: number): number {
  const scale = Math.min(1, 1568 / Math.max(width, height));
  return Math.min(1600, (width * scale * height * scale) / 750);
}

/** Gemini: 258 up to 384 px, else 258 for each tile of 768 × 768. */
function gemini(width: number, height: number): number {
  return width <= 384 && height <= 384 ? 258 : 258 * Math.ceil(width / 768) * Math.ceil(height / 768);
}

/** Gemma and Llama 4 take any picture for so many tokens. */
function fixed(tokens: number): ImageRule {
  return () => tokens;
}

/** By model name, from the providers' documentation, November 2026; the first that matches counts. Providers change these. */
const BY_NAME: readonly (readonly [RegExp, ImageRule])[] = [
  [/gpt-4o-mini/, tiles(2833, 5667)],
  [/gpt-4\.1-nano|gpt-5(\.\d+)?-nano/, patches(2.46)],
  [/gpt-4\.1-mini|gpt-5(\.\d+)?-mini|gpt-5\.[2-9]/, patches(1.62)],
  [/o4-mini/, patches(1.72)],
  [/gpt-5/, tiles(70, 140)],
  [/(^|[/.])o[13](-|$)/, tiles(75, 150)],
  [/gpt-4|chatgpt/, tiles(85, 170)],
  [/claude/, anthropic],
  [/gemini/, gemini],
  [/gemma/, fixed(256)],
];

/**
 * Whether the tokens of something are known from what the request tells of it. A picture behind an address, or a document of so many
 * bytes, may take a hundred times what is assumed, and would teach a model's weights nonsense.
 */
export function isMeasured({ kind, bytes, widthPx, seconds, plain }: Media): boolean {
  switch (kind) {
    case 'image':
      return widthPx !== null;
    case 'audio':
    case 'video':
      return seconds !== null;
    case 'file':
      return plain === true && bytes !== null;
  }
}

/** Tokens of what is no text, by the model's own rule; a fraction. Never more than a model could take. */
export function mediaTokens(media: Media, model: string): number {
  const { kind, bytes, seconds, plain } = media;
  switch (kind) {
    case 'image':
      return imageTokens(media, model.toLowerCase());
    case 'audio':
      // Gemini's 32 tokens a second; without a length, of about 32 KB.
      return bounded(seconds === null ? (bytes ?? 16_000) / 1000 : seconds * 32, 8, 50_000);
    case 'video':
      // Gemini's 263 tokens a second; without a length, of about 250 KB.
      return bounded(seconds === null ? (bytes ?? 2_850_000) / 950 : seconds * 263, 66, 200_000);
    case 'file':
      if (plain === true && bytes !== null) return bytes / BYTES_PER_TOKEN;
      // Small files are text, long ones pages of about 70 KB with 700 tokens each; between the two either may be.
      return bounded(bytes === null ? 1500 : Math.min(bytes / BYTES_PER_TOKEN, Math.max(4500, bytes / 100)), 10, 100_000);
  }
}

function imageTokens({ widthPx, heightPx, detail }: Media, name: string): number {
  if (widthPx === null || heightPx === null || !(widthPx > 0) || !(heightPx > 0)) return UNKNOWN_IMAGE;
  const rule = BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? fixed(UNKNOWN_IMAGE);
  return bounded(rule(Math.min(widthPx, MAX_SIDE_PX), Math.min(heightPx, MAX_SIDE_PX), detail), 16, 50_000);
}

function bounded(tokens: number, least: number, most: number): number {
  return Number.isFinite(tokens) ? Math.min(most, Math.max(least, tokens)) : most;
}
