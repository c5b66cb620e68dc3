import { z } from "zod";

/** The words between which a name of the setup file chooses; undefined where it takes any text. */
export function choicesOf(schema: z.core.$ZodType): readonly string[] | undefined {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  if (schema instanceof z.ZodDefault) return choicesOf(schema.def.innerType);
  if (schema instanceof z.ZodOptional) return choicesOf(schema.def.innerType);
  return schema instanceof z.ZodPipe ? choicesOf(schema.def.in) : undefined;
}
