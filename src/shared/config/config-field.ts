import { isAbsolute } from "node:path";
import { z } from "zod";
import { invariant } from "../invariant.ts";
import type { Program } from "../ipc/contract.ts";

/** The facts about a name of the setup file, in `schema.ts` and in every driver. */
interface Meta {
  /** One sentence for the example file and docs/reference.md. */
  readonly help: string;
  readonly example: string;
  /** Without a value these programs do not start. */
  readonly requiredBy?: readonly Program[];
  readonly secret?: boolean;
  /** Goes with a secret; people write the secret behind it. */
  readonly login?: boolean;
  /** Several values, with blanks between them. */
  readonly list?: boolean;
  /** The least with a real terminal: less is refused unless TEST_TIMERS is yes. */
  readonly floor?: number;
  /** Says what is doubtful about a value that is taken; never repeats the value. */
  doubt?(value: string): string | undefined;
}

/** The names of a part of the setup file, in its order. */
export type ConfigFields = Readonly<Record<string, z.ZodType>>;
export type ValuesOf<F extends ConfigFields> = { readonly [K in keyof F]: z.output<F[K]> };

/** A section of the setup file. */
export interface ConfigPart<F extends ConfigFields = ConfigFields> {
  readonly title: string;
  readonly fields: F;
  /** Faults of values that do not go together; a value that is a fault itself is undefined. */
  check?(values: Partial<ValuesOf<F>>): readonly ValueFault[];
}

/** Told with the line in which `name` stands. */
export interface ValueFault {
  readonly name: string;
  readonly message: string;
}

/** The values of `fields` in a configuration that was read with them. */
export function valuesOf<F extends ConfigFields>(fields: F, config: object): ValuesOf<F> {
  for (const name of Object.keys(fields)) {
    invariant(Object.hasOwn(config, name), `the configuration was read with ${name}`);
  }
  return config as ValuesOf<F>;
}

/** A name with what people read about it. */
export const described = <T extends z.ZodType>(schema: T, meta: Meta): T =>
  schema.meta({ ...meta });

/** The metadata given to a name of the schema. */
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

export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `must be one of ${values.join(", ")}` });

export const yesNo = oneOf(["yes", "no"]).transform((value) => value === "yes");

/** Services are started in any folder: a path must not depend on it. */
export const wholePath = text(1_024).refine((value) => isAbsolute(value), {
  error: "must be the whole path of a file",
});

/** An address as people write it; credentials in it would be logged and sent on. */
export function isWebAddress(value: string): boolean {
  if (!/^https?:\/\/[^\s/\\][^\s\\]*$/.test(value) || !URL.canParse(value)) return false;
  const { username, password, port } = new URL(value);
  return username === "" && password === "" && port !== "0";
}

/** Whether the host of an address is this machine. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** The highest port of TCP. */
export const PORT_MAX = 65_535;
