import { z } from 'zod';
import type { Default } from './defaults.js';

/** What the documentation tells of a field. */
export interface FieldDoc {
  readonly description: string;
  /** Null: the field has to be given. */
  readonly fallback: Default<unknown> | null;
  /** A value for the example, where the default shows nothing. */
  readonly example?: unknown;
}

/** The documentation of every field of the schema. */
export const fieldDocs = z.registry<FieldDoc>();

/** A field that has to be given. */
export function required<S extends z.ZodType>(schema: S, description: string, example: unknown): S {
  const field = schema.clone();
  fieldDocs.add(field, { description, fallback: null, example });
  return field;
}

/** A field with a default. */
export function optional<S extends z.ZodType>(
  schema: S,
  fallback: Default<z.output<S>>,
  description: string,
  example?: unknown,
): z.ZodDefault<S> {
  const field = schema.default(fallback.value as z.core.util.NoUndefined<z.output<S>>);
  fieldDocs.add(field, { description, fallback, example });
  return field as z.ZodDefault<S>;
}

/** A field that may be left out, which means something that no value says. */
export function omittable<S extends z.ZodType>(schema: S, fallback: Default<unknown>, description: string, example?: unknown): z.ZodOptional<S> {
  const field = schema.optional();
  fieldDocs.add(field, { description, fallback, example });
  return field as z.ZodOptional<S>;
}

/** A mapping whose fields all have defaults, so that it may be left out. */
export function section<S extends z.ZodObject>(schema: S, description: string): z.ZodPrefault<S> {
  const field = schema.prefault({} as z.input<S>);
  fieldDocs.add(field, { description, fallback: null });
  return field;
}

/** The schema itself, without what says that it may be absent. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  let inner = schema;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault || inner instanceof z.ZodNullable || inner instanceof z.ZodOptional) {
    inner = inner.unwrap();
  }
  return inner;
}

/** The mapping in a schema: itself, its list's element, or the one among its alternatives; null without one. */
export function mappingIn(schema: z.core.$ZodType): z.ZodObject | null {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) return inner;
  if (inner instanceof z.ZodArray) return mappingIn(inner.element);
  if (inner instanceof z.ZodUnion) return inner.options.map(mappingIn).find((option) => option !== null) ?? null;
  return null;
}

/** The mapping at a path of the document; null where there is none. Indexes of lists are passed over. */
export function mappingAt(root: z.core.$ZodType, path: readonly PropertyKey[]): z.ZodObject | null {
  let mapping = mappingIn(root);
  for (const part of path) {
    if (typeof part === 'number') continue;
    const next = mapping?.shape[String(part)];
    mapping = next === undefined ? null : mappingIn(next);
  }
  return mapping;
}
