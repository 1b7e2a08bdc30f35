import type { ScriptedAnswer } from '../../../src/upstream/script.js';
import { jsonList, sseStream } from '../framing.js';
import { streamed, TEXT, TOLD, whole, WORDS } from './said.js';

const COUNTS = {
  promptTokenCount: TOLD.input, cachedContentTokenCount: TOLD.cached,
  // Thoughts are told beside the candidates here, not inside.
  candidatesTokenCount: TOLD.output - TOLD.reasoning, thoughtsTokenCount: TOLD.reasoning, totalTokenCount: TOLD.input + TOLD.output,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: TOLD.input }],
};

/** `…:METHOD` of the Gemini API and of Vertex AI. `query`: tells how a stream is framed. */
export function geminiAnswer(path: string, query: string): ScriptedAnswer | null {
  const method = /:(\w+)$/.exec(path)?.[1];
  if (method === 'generateContent') return whole(piece(TEXT, 'STOP', COUNTS));
  if (method === 'streamGenerateContent') {
    return query.includes('alt=sse') ? streamed(sseStream(pieces().map((data) => ({ data })), '\r\n'), 'text/event-stream') : streamed(jsonList(pieces()), 'application/json; charset=UTF-8');
  }
  if (method === 'countTokens') return whole({ totalTokens: TOLD.input, promptTokensDetails: COUNTS.promptTokensDetails });
  if (method === 'embedContent') return whole({ embedding: { values: [0.5, -0.25, 1] } });
  if (method === 'batchEmbedContents') return whole({ embeddings: [{ values: [0.5, -0.25, 1] }] });
  return null;
}

function piece(text: string, finishReason: string | null, usageMetadata: object): object {
  const candidate = { content: { parts: [{ text }], role: 'model' }, index: 0, ...(finishReason === null ? {} : { finishReason }) };
  return { candidates: [candidate], usageMetadata, modelVersion: 'gemini-s', responseId: 'gem-s' };
}

/** Every piece carries usage; only the last one's is whole. */
function pieces(): object[] {
  const running = { promptTokenCount: TOLD.input, totalTokenCount: TOLD.input };
  return WORDS.map((text, i) => (i < WORDS.length - 1 ? piece(text, null, running) : piece(text, 'STOP', COUNTS)));
}
