import { z } from "zod";

/** Returns the values that a setting can have; undefined: any text. */
export function choicesOf(schema: z.core.$ZodType): readonly string[] | undefined {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  if (schema instanceof z.ZodDefault) return choicesOf(schema.def.innerType);
  if (schema instanceof z.ZodOptional) return choicesOf(schema.def.innerType);
  return schema instanceof z.ZodPipe ? choicesOf(schema.def.in) : undefined;
}
