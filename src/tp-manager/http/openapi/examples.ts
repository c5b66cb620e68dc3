import { z } from "zod";

const examples = z.registry<{ readonly example: unknown }>();

/**
 * Returns the schema with its value in the document's examples. The example of an object may name
 * some of its members; they come first, and the others follow with their own examples.
 */
export function like<T extends z.ZodType>(schema: T, example: Partial<z.input<T>>): T {
  const copy = schema.clone();
  examples.add(copy, { example });
  return copy;
}

/**
 * Returns the example of an answer: the value of {@link like}, else an object of its required
 * members, the first of several values, null if a single value may be null, an empty list, an empty
 * text, 0 or false.
 */
export function exampleOf<T extends z.core.$ZodType>(schema: T): z.input<T> {
  return exampleValue(schema) as z.input<T>;
}

function exampleValue(schema: z.core.$ZodType): unknown {
  const given = examples.get(schema)?.example;
  if (schema instanceof z.ZodObject) {
    const first = (given ?? {}) as Record<string, unknown>;
    const others = Object.entries<z.ZodType>(schema.shape).filter(
      ([name, member]) => !(name in first) && (isRequired(member) || examples.get(member)),
    );
    return {
      ...first,
      ...Object.fromEntries(others.map(([name, one]) => [name, exampleValue(one)])),
    };
  }
  if (given !== undefined) return given;
  if (schema instanceof z.ZodNullable) {
    const inner = schema.unwrap();
    return inner instanceof z.ZodObject || inner instanceof z.ZodUnion ? exampleValue(inner) : null;
  }
  if (schema instanceof z.ZodUnion) return exampleValue(schema.options[0] as z.ZodType);
  if (schema instanceof z.ZodEnum) return schema.options[0];
  if (schema instanceof z.ZodLiteral) return schema.value;
  if (schema instanceof z.ZodArray) return [];
  if (schema instanceof z.core.$ZodString) return "";
  if (schema instanceof z.ZodNumber) return 0;
  return schema instanceof z.ZodBoolean ? false : null;
}

const isRequired = (schema: z.ZodType): boolean => !(schema instanceof z.ZodOptional);

/** Returns the schema of a list whose example has one element. */
export function listOf<T extends z.ZodType>(element: T): z.ZodArray<T> {
  return like(z.array(element), [exampleOf(element)] as Partial<z.input<z.ZodArray<T>>>);
}
