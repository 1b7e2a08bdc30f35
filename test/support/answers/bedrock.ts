import type { ScriptedAnswer } from '../../../src/upstream/script.js';
import { eventStream, type Frame } from '../framing.js';
import { anthropicEvents, anthropicMessage } from './anthropic.js';
import { streamed, TEXT, TOLD, whole, WORDS } from './said.js';

const EVENT_STREAM = 'application/vnd.amazon.eventstream';
const FRESH = TOLD.input - TOLD.cached - TOLD.cacheWrite;
const USAGE = {
  inputTokens: FRESH, outputTokens: TOLD.output, totalTokens: TOLD.input + TOLD.output,
  cacheReadInputTokens: TOLD.cached, cacheWriteInputTokens: TOLD.cacheWrite,
};

/** Converse, InvokeModel (an Anthropic model's format inside) and the streams of both. */
export function bedrockAnswer(path: string): ScriptedAnswer | null {
  if (!path.startsWith('/model/')) return null;
  if (path.endsWith('/converse')) return whole(converse());
  if (path.endsWith('/converse-stream')) return streamed(eventStream(converseFrames()), EVENT_STREAM);
  if (path.endsWith('/invoke')) return whole(anthropicMessage('claude-s'));
  if (path.endsWith('/invoke-with-response-stream')) return streamed(eventStream(invokeFrames(invokeEvents())), EVENT_STREAM);
  return null;
}

function converse(): object {
  return { output: { message: { role: 'assistant', content: [{ text: TEXT }] } }, stopReason: 'end_turn', usage: USAGE, metrics: { latencyMs: 7 } };
}

function converseFrames(): Frame[] {
  return [
    { type: 'messageStart', payload: { role: 'assistant' } },
    ...WORDS.map((text) => ({ type: 'contentBlockDelta', payload: { contentBlockIndex: 0, delta: { text } } })),
    { type: 'contentBlockStop', payload: { contentBlockIndex: 0 } },
    { type: 'messageStop', payload: { stopReason: 'end_turn' } },
    { type: 'metadata', payload: { usage: USAGE, metrics: { latencyMs: 7 } } },
  ];
}

function invokeEvents(): object[] {
  const metrics = {
    inputTokenCount: FRESH, outputTokenCount: TOLD.output, invocationLatency: 9, firstByteLatency: 3,
    cacheReadInputTokenCount: TOLD.cached, cacheWriteInputTokenCount: TOLD.cacheWrite,
  };
  return anthropicEvents('claude-s').map((event) => (event.type === 'message_stop' ? { ...event, 'amazon-bedrock-invocationMetrics': metrics } : event));
}

/** Events of a model's own format in the frames of an InvokeModel stream, each padded as AWS does it. */
export function invokeFrames(events: readonly unknown[]): Frame[] {
  return events.map((event, i) => ({ type: 'chunk', payload: { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abcdefghij'.slice(0, i % 10) } }));
}
