import type { Struct, Struct__Output, Value, Value__Output } from './protocol.js';

const MAX_DEPTH = 32;

/** A protobuf Struct as a plain object. Below 32 levels values are left out. */
export function fromStruct(struct: Struct__Output | null | undefined, depth = 0): Record<string, unknown> {
  const entries = Object.entries(struct?.fields ?? {});
  return Object.fromEntries(entries.map(([name, value]) => [name, fromValue(value as Value__Output, depth)]));
}

function fromValue(value: Value__Output, depth: number): unknown {
  if (depth > MAX_DEPTH) return null;
  switch (value.kind) {
    case 'stringValue':
      return value.stringValue;
    case 'numberValue':
      return value.numberValue;
    case 'boolValue':
      return value.boolValue;
    case 'structValue':
      return fromStruct(value.structValue, depth + 1);
    case 'listValue':
      return (value.listValue?.values ?? []).map((item) => fromValue(item as Value__Output, depth + 1));
    default:
      return null;
  }
}

/** Facts as a protobuf Struct under one namespace, as Envoy takes dynamic metadata. */
export function toMetadata(namespace: string, facts: Readonly<Record<string, string | number | boolean>>): Struct {
  const fields: Record<string, Value> = {};
  for (const name of Object.keys(facts)) fields[name] = toValue(facts[name]!);
  return { fields: { [namespace]: { structValue: { fields } } } };
}

function toValue(value: string | number | boolean): Value {
  if (typeof value === 'string') return { stringValue: value };
  return typeof value === 'number' ? { numberValue: value } : { boolValue: value };
}
