import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { installationAt } from "../../../src/shared/program/installation.ts";
import { createConsole } from "../../../src/tp-manager/console/console.ts";
import type { ApiOptions } from "../../../src/tp-manager/http/app.ts";
import { Maintenance } from "../../../src/tp-manager/http/maintenance/maintenance.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { house } from "../../support/house/payment-house.ts";
import { apiOptions } from "./rig.ts";

const host = "localhost:8766";
const own = { host, origin: `http://${host}` };
const operator = { login: "operator", password: "long-operator-password" };

async function loggedIn(change: Partial<ApiOptions> = {}) {
  const at = house();
  const app = createConsole(apiOptions(at, { port: 8766, operator, ...change }));
  onTestFinished(() => app.close());
  const opened = await app.inject({
    method: "POST",
    url: "/session",
    headers: own,
    payload: operator,
  });
  const auth = { ...own, authorization: `Bearer ${opened.json()[0].token}` };
  const post = async (url: string, name: string, reason = "x", payload?: object) => {
    const headers = {
      ...auth,
      "act-name": encodeURIComponent(name),
      "act-reason": encodeURIComponent(reason),
    };
    const body = payload === undefined ? {} : { payload };
    return (await app.inject({ method: "POST", url: `/api${url}`, headers, ...body })).statusCode;
  };
  return { at, post };
}

test("an action needs a readable name without characters that hide other text", async () => {
  const { at, post } = await loggedIn();
  const bad = [
    "Anna\0",
    "Anna\u001b[2J",
    "An\nna",
    "\u200b",
    "\u2063\u00ad",
    "Anna\u202e",
    "---",
    "An\u2028na",
    "\u009b2J a",
  ];
  for (const name of bad) expect.soft([name, await post("/reset", name)]).toEqual([name, 400]);
  for (const reason of ["x\0", "x\u001b[2J", "x\u202e"])
    expect.soft([reason, await post("/reset", "Anna", reason)]).toEqual([reason, 400]);
  expect(at.journal.auditEntries.list(99, 9)).toEqual([]);
  for (const name of ["Anna", "Ω. Müller-Lüdenscheidt", "王", "4711", "می‌خواهم"])
    expect([name, await post("/reset", name)]).toEqual([name, 200]);
});

test("the call in an audit entry is short and holds no card number in any encoding", async () => {
  const { at, post } = await loggedIn();
  await post("/payment/4111%31111111%31111/settle", "Anna");
  await post("/payment/41111111%2d11111111/settle", "Anna");
  await post("/payment/%34%31%31%31%31%31%31%31%31%31%31%31%31%31%31%31/settle", "Anna");
  await post(`/reset?${"x".repeat(9_000)}`, "Anna");
  const calls = at.journal.auditEntries.list(99, 9).map(({ call }) => call);
  for (const call of calls) {
    expect.soft(call.length).toBeLessThan(1_000);
    expect.soft(decodeURIComponent(call).replace(/\D/g, "")).not.toContain("4111111111111111");
  }
});

test("an audit entry keeps the outcome of its call with the error code", async () => {
  const { at, post } = await loggedIn();
  expect(await post("/payment/A-1/settle", "Anna")).toBe(400);
  expect(await post("/reset", "Anna")).toBe(200);
  at.arbiter.lease.close();
  expect(await post("/reset", "Anna")).toBe(503);
  const ends = at.journal.auditEntries.list(99, 9).map(({ http, code }) => [http, code]);
  expect(ends).toEqual([
    [503, "STOPPING"],
    [200, null],
    [400, "BODY_NOT_JSON"],
  ]);
});

test("a search in the logs does not find a card number that is masked there", async () => {
  const installation = installationAt(temporaryFolder());
  mkdirSync(installation.logDirectory, { recursive: true });
  const line = { level: "info", time: "t", program: "tp-manager", msg: "card 4111111111111111" };
  writeFileSync(join(installation.logDirectory, "tp-manager.log"), `${JSON.stringify(line)}\n`);
  const maintenance = new Maintenance({ installation, fields: {} });
  const found = async (contains: string) =>
    (await maintenance.logs({ program: "tp-manager", level: "info", limit: 9, contains })).length;
  expect([await found("card"), await found("41111111111111")]).toEqual([1, 0]);
});

test("the supervisor learns who sends a transaction again or drops it, and why", async () => {
  const asked: unknown[] = [];
  const ask = (name: string, request: unknown) => {
    asked.push([name, request]);
    return Promise.resolve({ outcome: name === "outbox-drop" ? "dropped" : "queued" });
  };
  const { post } = await loggedIn({ supervisor: { ask } as never });
  expect(await post("/outbox/X-1/requeue", "Ada", "the amount was corrected")).toBe(200);
  expect(await post("/outbox/X-1/drop", "Ada", "y", { note: "booked by hand (Ada)" })).toBe(200);
  const person = { transactionId: "X-1", by: "Ada (operator)" };
  expect(asked).toEqual([
    ["outbox-requeue", { ...person, note: "the amount was corrected" }],
    ["outbox-drop", { ...person, note: "booked by hand (Ada)" }],
  ]);
});
