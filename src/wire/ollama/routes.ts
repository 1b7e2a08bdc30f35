import type { WireApi } from '../../domain/wire.js';
import { ollamaChat, ollamaEmbed, ollamaGenerate } from './ollama.js';

const ROUTES: ReadonlyMap<string, WireApi> = new Map([
  ['/api/chat', ollamaChat],
  ['/api/generate', ollamaGenerate],
  ['/api/embed', ollamaEmbed],
  ['/api/embeddings', ollamaEmbed],
]);

/** The API of Ollama's own that a path calls; null where it is none. */
export function ollamaRoute(path: string): WireApi | null {
  return ROUTES.get(path) ?? null;
}
