import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { z } from "zod";
import type { Health, PaymentAnswer } from "../../src/client/client.ts";
import type { EventMembers } from "../../src/client/event-types.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { eventTable } from "../../src/tp-manager/attempts/event-table.ts";
import { health } from "../../src/tp-manager/http/openapi/health.ts";
import { namedSchemas } from "../../src/tp-manager/http/openapi/known-answers.ts";
import { runToEnd } from "../support/own-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

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
  for (const path of ["src/client", "scripts/client-package.ts", "package.json", "LICENSE"]) {
    cpSync(join(projectRoot, path), join(copy, path), { recursive: true });
  }
  symlinkSync(join(projectRoot, "node_modules"), join(copy, "node_modules"));
  const words = ["pack", "--offline", "--pack-destination", folder];
  await runToEnd("npm", words, { cwd: join(copy, "src/client"), env });
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
])("is used from %s", async (_, file, beginning) => {
  writeFileSync(join(app, file), beginning + use);
  const { stdout } = await runToEnd(node, [file], { cwd: app });
  expect(stdout).toMatch(/^Declined Ihre Karte wurde abgelehnt\./);
});

const typed = `import { ConnectorClient, customerMessage } from "${NAME}";
import type { ConnectorEvent, Outcome } from "${NAME}";
const connector = new ConnectorClient({ url: "http://localhost:1", login: "a", password: "b" });
export async function shown(signal: AbortSignal): Promise<string[]> {
  const texts: string[] = [];
  for await (const event of connector.events({ signal })) texts.push(told(event));
  const outcome: Outcome = await connector.pay({ amount: 12, orderId: "A-1" });
  return [...texts, customerMessage(outcome, "fr")];
}
function told(event: ConnectorEvent): string {
  if (event.name === "prompt") return event.data.text;
  return event.name === "payment" ? event.data.state : event.data.at;
}
// @ts-expect-error a payment has an orderId
void connector.pay({ amount: 12 });
`;

test("has types for both, of every event too", async () => {
  writeFileSync(join(app, "sample.mts"), typed);
  writeFileSync(join(app, "sample.cts"), typed);
  const tsc = join(projectRoot, "node_modules", ".bin", "tsc");
  const switches = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext"];
  const lib = ["--target", "es2022", "--lib", "es2022,esnext.disposable,dom", "--types", ""];
  const words = [...switches, ...lib, "sample.mts", "sample.cts"];
  const { stdout } = await runToEnd(tsc, words, { cwd: app, env }).catch((error) => error);
  expect(stdout).toBe("");
});

test("needs nothing of Node.js, and holds nothing but its build", () => {
  const code = readFileSync(join(installed, "dist/index.js"), "utf8");
  expect(code).not.toMatch(/\bimport\b[^.]*from|\brequire\(|\bprocess\b|\bBuffer\b|node:/);
  expect(existsSync(join(installed, "client.ts"))).toBe(false);
  expect(existsSync(join(installed, "dist/LICENSE"))).toBe(true);
});

type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Plain<T[Key]> }
    : T;
type Same<A, B> = [A, keyof A] extends [B, keyof B]
  ? [B, keyof B] extends [A, keyof A]
    ? true
    : never
  : never;

test("its events are those of the connector, member by member", () => {
  type Told = { [Name in keyof typeof eventTable]: z.infer<(typeof eventTable)[Name]["data"]> };
  // TypeScript compares: `true` is no value of a row that differs.
  const same: { [Name in keyof Told]: Same<Plain<EventMembers[Name]>, Told[Name]> } & Record<
    keyof EventMembers,
    true
  > = {
    payment: true,
    delivery: true,
    "end-of-day": true,
    reconciliation: true,
    alarm: true,
    "fleet-request": true,
    prompt: true,
    terminal: true,
    gap: true,
  };
  expect(Object.keys(same)).toEqual(Object.keys(eventTable));
});

test("what it says of health and of a payment is what the connector answers", () => {
  type There<T> = { [Key in keyof T]-?: Exclude<T[Key], undefined> };
  type Fits<Schema extends z.ZodType, Type> =
    There<z.output<Schema>> extends There<Type> ? true : never;
  // TypeScript compares, as above; the document has one schema for each error.
  const fits: {
    health: Fits<typeof health, Health>;
    payment: Fits<typeof namedSchemas.paymentAnswer, Omit<PaymentAnswer, "error">>;
  } = { health: true, payment: true };
  expect(Object.keys(health.shape)).toEqual(expect.arrayContaining(["troubles", "alarms"]));
  expect(Object.keys(namedSchemas.paymentAnswer.shape)).toContain("chargedAmount");
  expect(fits).toEqual({ health: true, payment: true });
});
