/**
 * Builds the client's package before `npm pack` in src/client: one ES module, the same as CommonJS,
 * and one file of types for each. A kiosk program needs no build step and none of our packages.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const sources = join(root, "src", "client");
const out = join(sources, "dist");

/** The modules of the package, without its index. */
const parts = ["answer-types", "client", "customer-messages"];

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
await writeModules();
writeTypes();
cpSync(join(root, "LICENSE"), join(out, "LICENSE"));

async function writeModules(): Promise<void> {
  const build = await rolldown({
    input: join(sources, "index.ts"),
    platform: "neutral",
    tsconfig: false,
    transform: { target: "es2022" },
    logLevel: "warn",
  });
  for (const [format, file] of [
    ["esm", "index.js"],
    ["cjs", "index.cjs"],
  ] as const) {
    await build.write({ file: join(out, file), format });
  }
  await build.close();
}

/**
 * The types of all parts in one file: a declaration file cannot name another one in both forms. The
 * answers' types come from the document, so that the package needs no other.
 */
function writeTypes(): void {
  const made = join(out, "types");
  for (const part of [...parts, "index"]) {
    cpSync(join(sources, `${part}.ts`), join(made, `${part}.ts`));
  }
  cpSync(join(sources, "customer-messages.json"), join(made, "customer-messages.json"));
  writeFileSync(join(made, "answer-types.ts"), answerTypes());
  const switches = ["--declaration", "--emitDeclarationOnly", "--noEmit", "false"];
  execFileSync(
    join(root, "node_modules", ".bin", process.platform === "win32" ? "tsc.cmd" : "tsc"),
    [
      "--ignoreConfig",
      "--outDir",
      made,
      ...switches,
      "--strict",
      "--target",
      "es2022",
      "--lib",
      "es2022,esnext.disposable,dom",
      "--types",
      "",
      "--module",
      "nodenext",
      "--allowImportingTsExtensions",
      "--resolveJsonModule",
      join(made, "index.ts"),
    ],
    { cwd: root, stdio: "inherit", shell: process.platform === "win32" },
  );
  const text = parts
    .map((part) => readFileSync(join(made, `${part}.d.ts`), "utf8"))
    .join("\n")
    .replaceAll(/^(?:import|export) .* from "\.\/.*";\n/gm, "");
  for (const file of ["index.d.ts", "index.d.cts"]) writeFileSync(join(out, file), text);
  rmSync(made, { recursive: true });
}

/** A JSON Schema of docs/openapi.json. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
}

/** Returns the types of the answers, with the names in src/client/answer-types.ts. */
function answerTypes(): string {
  const {
    paths,
    components,
    "x-events": events,
  } = JSON.parse(readFileSync(join(root, "docs", "openapi.json"), "utf8"));
  const { schemas } = components;
  const check = paths["/check"].get.responses["200"].content["application/json"].schema.items;
  const members = Object.entries<{ meaning: string; data: Schema }>(events).map(
    ([name, { meaning, data }]) => {
      const { at: _, ...properties } = data.properties ?? {};
      return [name, { ...data, properties, description: meaning }];
    },
  );
  const all = { type: "object", properties: Object.fromEntries(members), required: [] };
  const required = members.map(([name]) => String(name));
  const typeOf = (schema: Schema): string => typeText(schema, schemas);
  const errors = Object.entries<Schema>(schemas).filter(([name]) => name.startsWith("Error_"));
  const ofErrors = (member: string): string =>
    typeOf({ anyOf: errors.flatMap(([, { properties = {} }]) => properties[member] ?? []) });
  return `/** An error of any call; a newer connector may send a code that is not listed. */
export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly charged: ${ofErrors("charged")};
  readonly retry: ${ofErrors("retry")};
  readonly details: Readonly<Record<string, unknown>>;
}
export type PaymentAnswer = ${typeOf(schemas.PaymentAnswer)};
export type PaymentStatus = PaymentAnswer["status"];
export type Attempt = ${typeOf(schemas.Attempt)};
export type Health = ${typeOf(schemas.Health)};
export type Check = ${typeOf(check)};
export type EventMembers = ${typeOf({ ...all, required })};
`;
}

/** Returns a schema as a type of TypeScript; all errors have one type. */
function typeText(schema: Schema, named: Readonly<Record<string, Schema>>): string {
  const { $ref, const: value, items, type } = schema;
  const inner = (one: Schema): string => typeText(one, named);
  const union = (types: readonly string[]): string => [...new Set(types)].join(" | ");
  const name = $ref?.split("/").at(-1) ?? "";
  if (/^Error_|^OutcomeError$/.test(name)) return "ApiError";
  if (name === "JsonValue") return "unknown"; // refers to itself
  if (name !== "") return inner(named[name] ?? {});
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return union(options.map(inner));
  if (value !== undefined) return JSON.stringify(value);
  if (schema.enum) return union(schema.enum.map((one) => JSON.stringify(one)));
  if (Array.isArray(type)) return union(type.map((one) => inner({ ...schema, type: one })));
  if (type === "array") return `ReadonlyArray<${inner(items ?? {})}>`;
  if (type === "object") return objectText(schema, inner);
  const plain = { string: "string", number: "number", integer: "number", boolean: "boolean" };
  return { ...plain, null: "null" }[String(type)] ?? "unknown";
}

function objectText(schema: Schema, inner: (one: Schema) => string): string {
  const { properties, required = [], additionalProperties: others } = schema;
  if (!properties) {
    return `Readonly<Record<string, ${inner(typeof others === "object" ? others : {})}>>`;
  }
  const members = Object.entries(properties).map(([name, member]) => {
    const said = member.description === undefined ? "" : `/** ${member.description} */\n`;
    const mark = required.includes(name) ? "" : "?";
    return `${said}readonly ${JSON.stringify(name)}${mark}: ${inner(member)};`;
  });
  return `{\n${members.join("\n")}\n}`;
}
