import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { projectRoot } from "../../src/shared/version-files.ts";
import { eventTable } from "../../src/tp-manager/attempts/event-table.ts";
import { examplesOf } from "../../src/tp-manager/http/openapi/document.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runToEnd } from "../support/programs/own-processes.ts";

/**
 * The client's package as a kiosk developer gets it: packed from a copy of the sources, installed
 * without a network, used from an ES module and from CommonJS, and checked by TypeScript.
 */

const NAME = "unattended-terminal-connector-client";
const folder = temporaryFolder(afterAll);
const app = join(folder, "app");
const installed = join(app, "node_modules", NAME);
const node = process.execPath;
/** The build runs on the runtime of the project, whatever node is on this machine. */
const env = { ...process.env, PATH: `${join(node, "..")}:${process.env["PATH"]}` };

beforeAll(async () => {
  const copy = join(folder, "sources");
  const sources = ["src/client", "scripts/client-package.ts", "docs/openapi.json"];
  for (const path of [...sources, "package.json", "LICENSE"]) {
    cpSync(join(projectRoot, path), join(copy, path), { recursive: true });
  }
  symlinkSync(join(projectRoot, "node_modules"), join(copy, "node_modules"));
  const args = ["pack", "--offline", "--pack-destination", folder];
  await runToEnd("npm", args, { cwd: join(copy, "src/client"), env });
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{ "private": true }');
  const { version } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
  const archive = join(folder, `${NAME}-${version}.tgz`); // the version of the connector
  await runToEnd("npm", ["install", "--offline", "--no-audit", "--no-fund", archive], {
    cwd: app,
    env,
  });
});

const use = `
const fetch = async () => Response.json([{ status: "Declined",
  error: { code: "PAYMENT_DECLINED", message: "", charged: "no", retry: "safe", details: {} } }]);
const pair = { login: "a", password: "b" };
const connector = new ConnectorClient({ url: "http://localhost:1", ...pair, fetch });
connector.pay({ amount: 12, orderId: "A-1" }).then((answer) =>
  console.log(answer.status, customerMessage(answer, "de")));`;

test.each([
  ["an ES module", "use.mjs", `import { ConnectorClient, customerMessage } from "${NAME}";`],
  ["CommonJS", "use.cjs", `const { ConnectorClient, customerMessage } = require("${NAME}");`],
])("the package is used from %s", async (_, file, beginning) => {
  writeFileSync(join(app, file), beginning + use);
  const { stdout } = await runToEnd(node, [file], { cwd: app });
  expect(stdout).toMatch(/^Declined Ihre Karte wurde abgelehnt\./);
});

const typed = `import { ConnectorClient, customerMessage } from "${NAME}";
import type { ConnectorEvent, Outcome } from "${NAME}";
const connector = new ConnectorClient({ url: "http://localhost:1", login: "a", password: "b" });
export async function shown(signal: AbortSignal): Promise<string[]> {
  const texts: string[] = [];
  for await (const event of connector.events({ signal })) texts.push(textOf(event));
  const outcome: Outcome = await connector.pay({ amount: 12, orderId: "A-1" });
  return [...texts, customerMessage(outcome, "fr")];
}
function textOf(event: ConnectorEvent): string {
  if (event.name === "prompt") return event.data.text;
  return event.name === "payment" ? event.data.state : event.data.at;
}
// @ts-expect-error a payment has an orderId
void connector.pay({ amount: 12 });
`;

const tsc = join(projectRoot, "node_modules", ".bin", "tsc");
const switches = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext"];
const lib = ["--target", "es2022", "--lib", "es2022,esnext.disposable,dom", "--types", ""];

test("the package has types for both forms of modules, of every event too", async () => {
  expect(await faultsIn({ "sample.mts": typed, "sample.cts": typed })).toBe("");
});

test("the package needs nothing of Node.js, and has nothing but its build", () => {
  const code = readFileSync(join(installed, "dist/index.js"), "utf8");
  expect(code).not.toMatch(/\bimport\b[^.]*from|\brequire\(|\bprocess\b|\bBuffer\b|node:/);
  expect(existsSync(join(installed, "client.ts"))).toBe(false);
  expect(existsSync(join(installed, "dist/LICENSE"))).toBe(true);
});

test("the package's types are those of the document, member by member", async () => {
  const answerOf = (path: string): unknown => examplesOf(path).answer;
  const { attempts } = answerOf("/payment/{orderId}") as { readonly attempts: unknown[] };
  const events = Object.entries(eventTable).map(([name, data]) => [name, sampleOf(data)]);
  const values = Object.entries({
    PaymentAnswer: answerOf("/payment"),
    Attempt: attempts[0],
    Health: answerOf("/health"),
    Check: answerOf("/check"),
    EventMembers: Object.fromEntries(events),
  });
  const names = values.map(([name]) => name);
  // An example has each member that is required, so TypeScript finds any member that differs.
  const checked = [
    `import type { ${names.join(", ")}, ApiError } from "${NAME}";`,
    ...values.map(([name, value]) => `export const a${name}: ${name} = ${JSON.stringify(value)};`),
    "type Must<T extends true> = T;",
    "type Of<T, K extends keyof T> = T[K];",
    'export type Error = Must<ApiError | null extends Of<PaymentAnswer, "error"> ? true : false>;',
    "// @ts-expect-error a member that no answer has",
    'export type None = Of<Health, "mood">;',
    "// @ts-expect-error a value that no answer has",
    'export const wrong: Of<Check, "cr"> = "3";',
    "// @ts-expect-error every member is there",
    'export const half: EventMembers["gap"] = { afterId: 1 };',
    "",
  ];
  expect(await faultsIn({ "answers.mts": checked.join("\n") })).toBe("");
});

/** A value of a schema, with each member that is required. */
function sampleOf(schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodObject) {
    const required = Object.entries<z.ZodType>(schema.shape).filter(
      ([, member]) => !(member instanceof z.ZodOptional),
    );
    return Object.fromEntries(required.map(([name, member]) => [name, sampleOf(member)]));
  }
  if (schema instanceof z.ZodNullable) {
    const inner = schema.unwrap();
    return inner instanceof z.ZodObject || inner instanceof z.ZodUnion ? sampleOf(inner) : null;
  }
  if (schema instanceof z.ZodUnion) return sampleOf(schema.options[0] as z.ZodType);
  if (schema instanceof z.ZodEnum) return schema.options[0];
  if (schema instanceof z.ZodLiteral) return schema.value;
  if (schema instanceof z.ZodArray) return [];
  if (schema instanceof z.core.$ZodString) return "";
  if (schema instanceof z.ZodNumber) return 0;
  return schema instanceof z.ZodBoolean ? false : null;
}

/** What TypeScript says about files that use the package, by their names. */
async function faultsIn(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [file, text] of Object.entries(files)) writeFileSync(join(app, file), text);
  const args = [...switches, ...lib, ...Object.keys(files)];
  const { stdout } = await runToEnd(tsc, args, { cwd: app, env }).catch((error) => error);
  return stdout;
}
