import { isAbsolute } from "node:path";
import { z } from "zod";
import { invariant } from "../invariant.ts";
import type { Program } from "../ipc/contract.ts";
import type { Entry } from "./config-file.ts";

interface Traits {
  /** The programs that refuse to start while the setting has no value. */
  readonly requiredBy?: readonly Program[];
  readonly secret?: boolean;
  /** Whether the value is a login; it is not printed, as people append its password by mistake. */
  readonly login?: boolean;
  /** Whether the value is a list whose elements are separated by blanks. */
  readonly list?: boolean;
  /** Whether the value is a login and a password, separated by a colon. */
  readonly pair?: boolean;
  /** The lowest value without TEST_TIMERS=yes, for a real terminal (docs/rules/14-timers.md). */
  readonly floor?: number;
  /** Returns a warning about an accepted value; the warning does not repeat the value. */
  warn?(value: string): string | undefined;
}

interface Meta extends Traits {
  /** The sentence about the setting in the example file and in docs/reference.md. */
  readonly help: string;
  readonly example: string;
}

/** The settings of one section of the setup file, in the order of the file. */
export type ConfigFields = Readonly<Record<string, z.ZodType>>;
export type ValuesOf<F extends ConfigFields> = { readonly [K in keyof F]: z.output<F[K]> };

export interface ConfigPart<F extends ConfigFields = ConfigFields> {
  readonly title: string;
  readonly fields: F;
  /** Returns the faults of values that contradict each other; an invalid value is undefined. */
  check?(values: Partial<ValuesOf<F>>): readonly ValueFault[];
}

/** A fault in the setup file, which is reported with the line of the setting `name`. */
export interface ValueFault {
  readonly name: string;
  readonly message: string;
}

/** Returns the configuration with the type of `fields`; throws if it was read without them. */
export function valuesOf<F extends ConfigFields>(fields: F, config: object): ValuesOf<F> {
  for (const name of Object.keys(fields)) {
    invariant(Object.hasOwn(config, name), `the configuration was read with ${name}`);
  }
  return config as ValuesOf<F>;
}

/** Returns a function that adds to each setting its help and example from `texts`. */
export const textsFrom =
  <K extends string>(texts: Readonly<Record<K, Pick<Meta, "help" | "example">>>) =>
  <F extends Partial<Record<K, z.ZodType>>>(fields: F): F => {
    const named = Object.entries<z.ZodType>(fields as Record<string, z.ZodType>).map(
      ([name, schema]) => [name, schema.meta({ ...schema.meta(), ...texts[name as K] })],
    );
    return Object.fromEntries(named);
  };

/** Adds traits to a setting, such as `secret`; {@link textsFrom} adds its help and example. */
export const marked = <T extends z.ZodType>(schema: T, traits: Traits): T =>
  schema.meta({ ...traits });

export function metaOf(schema: z.ZodType): Meta {
  return schema.meta() as unknown as Meta;
}

export const text = (max: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .max(max, `must be at most ${max} characters`)
    .regex(/^\P{Cc}*$/u, "must not hold control characters");

export const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^(0|[1-9]\d{0,8})$/, "must be a whole number without leading zeros")
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));

export const form = (pattern: RegExp, error: string) => z.string().regex(pattern, error);

export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `must be one of ${values.join(", ")}` });

export const yesNo = oneOf(["yes", "no"]).transform((value) => value === "yes");

/** An absolute path, because a service may be started in any folder. */
export const wholePath = text(1_024).refine(isAbsolute, "must be the whole path of a file");

/** Whether a value is an http or https address without a login, which would get into the log. */
export function isWebAddress(value: string): boolean {
  if (!/^https?:\/\/[^\s/\\][^\s\\]*$/.test(value) || !URL.canParse(value)) return false;
  const { username, password, port } = new URL(value);
  return username === "" && password === "" && port !== "0";
}

export const isLoopback = (hostname: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

export const PORT_MAX = 65_535;

/** Whether a value in the setup file may be printed; values of unknown settings may not. */
export function mayBePrinted({ name, value }: Pick<Entry, "name" | "value">, fields: ConfigFields) {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return field !== undefined && isPrintable(field, value);
}

/** Whether a value is neither a secret, nor a login, nor an address with credentials. */
export function isPrintable(field: z.ZodType, value: string): boolean {
  const { secret, login } = metaOf(field);
  return secret !== true && login !== true && !holdsCredentials(value);
}

/** Whether an address contains a login, or a query or fragment, which may be a token. */
export const holdsCredentials = (value: string): boolean =>
  /@|^\s*[a-z][a-z\d+.-]*:[^?#]*[?#]/i.test(value);

/** From this length a URL parameter counts as a secret; the `2` of `v=2` occurs in many texts. */
const PARAMETER_CHARACTERS_MIN = 6;

/** Returns the secrets in an address such as http://login:password@host/path?token=secret. */
export function credentialsWithin(value: string): string[] {
  const passwords = [...value.matchAll(/:([^:@/]+)@/g)].map(([, password = ""]) => password);
  const [, query = ""] = /[?#](.*)/.exec(value) ?? [];
  const parameters = query.split(/[?&#;]/).map((one) => one.slice(one.indexOf("=") + 1));
  const long = [query, ...parameters].filter(({ length }) => length >= PARAMETER_CHARACTERS_MIN);
  return [...passwords, ...long];
}
