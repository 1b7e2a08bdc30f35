import { isObject, type Json, type JsonObject } from '../json/json.js';

/** Keys of media that some model families take as plain base64, where Converse has `{source: {bytes}}`. */
const BARE_MEDIA = new Set(['image', 'images', 'init_image', 'mask', 'mask_source', 'inputImage', 'conditionImage', 'maskImage', 'referenceImage', 'video']);

/** Blocks that hold what no model sees. */
const HIDING = ['cachePoint', 'toolUse', 'toolResult', 'reasoningContent'];

/** A message as the model sees it: without cache points, ids and sealed reasoning. Only what has to change is copied. */
export function shownMessage(message: JsonObject): JsonObject {
  const content = shownBlocks(message['content']);
  return content === message['content'] ? message : { ...message, content };
}

/** The same for a list of content blocks, such as `system`; anything else stays as it is. */
export function shownBlocks(blocks: Json): Json {
  return Array.isArray(blocks) && blocks.some(hasHidden) ? blocks.map(shownBlock) : blocks;
}

/** Tool definitions without cache points; anything but a list stays as it is. */
export function shownTools(tools: Json): Json {
  return Array.isArray(tools) ? tools.filter((tool) => !(isObject(tool) && isObject(tool['cachePoint']))) : tools;
}

function hasHidden(block: Json): boolean {
  return isObject(block) && HIDING.some((key) => isObject(block[key]));
}

function shownBlock(block: Json): Json {
  if (!isObject(block)) return block;
  const { toolUse, toolResult, reasoningContent } = block;
  return {
    ...block,
    cachePoint: undefined,
    toolUse: isObject(toolUse) ? { ...toolUse, toolUseId: undefined } : toolUse,
    toolResult: isObject(toolResult) ? { ...toolResult, toolUseId: undefined, content: shownBlocks(toolResult['content']) } : toolResult,
    reasoningContent: isObject(reasoningContent) ? { ...reasoningContent, redactedContent: undefined } : reasoningContent,
  };
}

/** Base64 that stands bare at a key of media, put where it is known as such; anything else stays as it is. */
export function markedMedia(key: string, value: Json): Json {
  if (typeof value === 'string') return BARE_MEDIA.has(key) ? { [key === 'video' ? 'video' : 'image']: { bytes: value } } : value;
  if (Array.isArray(value)) return value.map((item) => markedMedia(key, item));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, markedMedia(name, member)]));
}
