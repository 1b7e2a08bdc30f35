import type { WireApi } from '../../domain/wire.js';
import { openaiChat } from '../openai/openai.js';
import { geminiEmbed, geminiGenerate } from './gemini.js';

const VERSION = String.raw`(?:/v\d+(?:(?:alpha|beta)\d*)?)?`;
const PLACE = String.raw`/projects/[^/]+/locations/[^/]+`;
/** `models/M`, Vertex's `publishers/P/models/M` with or without a project before it, `tunedModels/M`, and deployed `endpoints/E`. */
const CALL = new RegExp(`^${VERSION}(?:(?:${PLACE})?/publishers/(?<publisher>[^/]+)|(?<plain>)|${PLACE}(?<deployed>))/(?<kind>models|tunedModels|endpoints)/(?<name>[^/]+):(?<method>[A-Za-z]+)$`);
/** Vertex's endpoint that speaks OpenAI's API; it takes the model from the body. */
const OPENAI = new RegExp(`^${VERSION}${PLACE}/endpoints/[^/]+/chat/completions$`);

/** The API of Google that a path calls; null where it is none that is read. */
export function geminiRoute(path: string): WireApi | null {
  if (OPENAI.test(path)) return openaiChat;
  const { publisher = 'google', kind, name, method } = CALL.exec(path)?.groups ?? {};
  if (publisher !== 'google' || kind === undefined || name === undefined || method === undefined) return null;
  // A model of Google's own goes by its plain name, as in the price lists; others must not look like one.
  return methodOf(method, kind === 'models' ? name : `${kind}/${name}`);
}

function methodOf(method: string, model: string): WireApi | null {
  if (method === 'generateContent' || method === 'streamGenerateContent') return geminiGenerate({ model, stream: method === 'streamGenerateContent' });
  if (method === 'embedContent' || method === 'batchEmbedContents') return geminiEmbed(method, model);
  return method === 'predict' && /embedding/i.test(model) ? geminiEmbed(method, model) : null;
}
