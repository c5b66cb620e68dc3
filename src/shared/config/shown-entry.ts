import { type ConfigFields, metaOf } from "./config-field.ts";
import type { Entry } from "./config-file.ts";

/**
 * Whether a value of the setup file may be shown. Hidden are secrets, a login, behind which people
 * write the password, and an unknown name.
 */
export function isShown({ name, value }: Pick<Entry, "name" | "value">, fields: ConfigFields) {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (!field) return false;
  return metaOf(field).secret !== true && !name.endsWith("_LOGIN") && !value.includes("@");
}
