import type { WireApi } from '../../domain/wire.js';
import { geminiEnd } from '../endings.js';
import { responseReader } from '../stream/reader.js';
import { GeminiAnswer } from './answer.js';
import { GeminiEmbedAnswer, parseEmbed, type EmbedMethod } from './embed.js';
import { geminiRefusal } from './refusal.js';
import { parseGenerateContent, type Called } from './request.js';

/** `…/models/MODEL:generateContent` and `:streamGenerateContent`, of Gemini's API and of Vertex. Usage always comes. */
export function geminiGenerate(called: Called): WireApi {
  return {
    api: 'gemini-generate-content',
    parseRequest: (body, sink) => parseGenerateContent(body, called, sink),
    askForUsage: () => [],
    responseReader: (options) => responseReader(new GeminiAnswer(), options),
    refuse: geminiRefusal,
    endEvent: geminiEnd,
  };
}

/** `…/models/MODEL:embedContent`, `:batchEmbedContents`, and Vertex's `:predict` of models that embed. */
export function geminiEmbed(method: EmbedMethod, model: string): WireApi {
  return {
    api: 'gemini-embed-content',
    parseRequest: (body, sink) => parseEmbed(body, method, model, sink),
    askForUsage: () => [],
    responseReader: (options) => responseReader(new GeminiEmbedAnswer(), options),
    refuse: geminiRefusal,
    endEvent: geminiEnd,
  };
}
