import { isObject, listOf, type Json, type JsonObject } from './json/json.js';

/** Members by which a request to LiteLLM names models that are to answer where the first one does not. */
const FIELDS = ['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'];
const NONE: readonly string[] = [];

/**
 * Other models that a body lets a gateway choose, each once: names, objects with a `model`, or such lists by the name of the model that
 * failed. Empty for nearly all bodies. Recursion is bounded by the depth of the body.
 */
export function fallbackModels(body: JsonObject): readonly string[] {
  const { router_settings_override: override } = body;
  if (override === undefined && FIELDS.every((field) => body[field] === undefined)) return NONE;
  return [...new Set([...namesOf(body), ...(isObject(override) ? namesOf(override) : [])])];
}

function namesOf(object: JsonObject): string[] {
  return FIELDS.flatMap((field) => namesIn(object[field]));
}

function namesIn(value: Json): string[] {
  return listOf(value).flatMap((item) => {
    if (typeof item === 'string') return [item];
    if (!isObject(item)) return [];
    const { model } = item;
    return typeof model === 'string' ? [model, ...namesOf(item)] : Object.values(item).flatMap(namesIn);
  });
}
