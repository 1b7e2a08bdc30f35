import type { RawAnswer, Script, ScriptedAnswer, ScriptRequest } from '../../src/upstream/script.js';
import { anthropicAnswer } from './answers/anthropic.js';
import { bedrockAnswer } from './answers/bedrock.js';
import { geminiAnswer } from './answers/gemini.js';
import { localAnswer } from './answers/local.js';
import { ollamaAnswer } from './answers/ollama.js';
import { openaiAnswer } from './answers/openai.js';
import { whole } from './answers/said.js';

/** Decides about a request before the scripts of the APIs do; null leaves it to them. */
export type Special = (request: ScriptRequest, path: string) => ScriptedAnswer | RawAnswer | null;

/**
 * An upstream that serves every API by its path, with what each documents: the same words and the same counts (`answers/said.ts`),
 * streams in pieces that are cut anywhere. It keeps no limits and asks for no keys.
 */
export function scriptedUpstream(special: Special = () => null): Script {
  return (request) => {
    const [path = '', query = ''] = request.path.split('?', 2);
    return special(request, path)
      ?? bedrockAnswer(path)
      ?? geminiAnswer(path, query)
      ?? ollamaAnswer(path, request.json)
      ?? localAnswer(path, request.json)
      ?? anthropicAnswer(path, request.json)
      ?? openaiAnswer(path, request.json)
      ?? whole({ error: { message: `no script for ${path}` } }, 404);
  };
}
