import type { WireApi } from '../../domain/wire.js';
import { ollamaEnd } from '../endings.js';
import { responseReader } from '../stream/reader.js';
import { OllamaAnswer } from './answer.js';
import { ollamaRefusal } from './refusal.js';
import { parseChat, parseEmbed, parseGenerate } from './request.js';

/** `POST /api/chat`. Usage comes with the last line. */
export const ollamaChat: WireApi = {
  api: 'ollama-chat',
  parseRequest: parseChat,
  askForUsage: () => [],
  responseReader: (options) => responseReader(new OllamaAnswer(), options),
  refuse: ollamaRefusal,
  endEvent: ollamaEnd,
};

/** `POST /api/generate`: one text, or a conversation by the numbers of its tokens. */
export const ollamaGenerate: WireApi = { ...ollamaChat, api: 'ollama-generate', parseRequest: parseGenerate };

/** `POST /api/embed` and `/api/embeddings`. */
export const ollamaEmbed: WireApi = { ...ollamaChat, api: 'ollama-embed', parseRequest: parseEmbed };
