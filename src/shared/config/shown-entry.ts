import type { z } from "zod";
import { type ConfigFields, metaOf } from "./config-field.ts";
import type { Entry } from "./config-file.ts";

/** A login in an address, and words behind its path, where tokens stand. */
const credentials = /@|^\s*[a-z][a-z\d+.-]*:[^?#]*[?#]/i;

/** Whether a value of the setup file may be shown; one with an unknown name may not. */
export function isShown({ name, value }: Pick<Entry, "name" | "value">, fields: ConfigFields) {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return field !== undefined && mayBeShown(field, value);
}

/**
 * The schema says which names are secrets, and which are logins, behind which people write the
 * password. An address is hidden where it holds credentials.
 */
export function mayBeShown(field: z.ZodType, value: string): boolean {
  const { secret, login } = metaOf(field);
  return secret !== true && login !== true && !holdsCredentials(value);
}

export const holdsCredentials = (value: string): boolean => credentials.test(value);

/** Shorter words behind a path, as in `?v=2`, stand in many texts by chance. */
const WORD_CHARACTERS_MIN = 6;

/** The credentials in an address: http://login:password@host/path?token=word. */
export function credentialsWithin(value: string): string[] {
  const passwords = [...value.matchAll(/:([^:@/]+)@/g)].map(([, password = ""]) => password);
  const [, behindPath = ""] = /[?#](.*)/.exec(value) ?? [];
  const words = behindPath.split(/[?&#;]/).map((word) => word.slice(word.indexOf("=") + 1));
  const long = [behindPath, ...words].filter(({ length }) => length >= WORD_CHARACTERS_MIN);
  return [...passwords, ...long];
}
