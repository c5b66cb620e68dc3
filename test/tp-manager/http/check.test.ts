import { expect, test } from "vitest";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import { disconnected, lost } from "../../support/terminals/scripted-terminal.ts";
import { api } from "./rig.ts";

type Call = Awaited<ReturnType<typeof api>>["call"];

const check = async (call: Call, query = ""): Promise<Record<string, string>> =>
  JSON.parse((await call("GET", `/check${query}`)).text)[0];

test("/check asks the terminal at most every two seconds, or at once with fresh=yes", async () => {
  const { call, at } = await api();
  const asOf = async (query = ""): Promise<string> => String((await check(call, query))["asOf"]);
  const first = await asOf();
  await at.clock.advance(1_999);
  expect(await asOf()).toBe(first);
  expect(at.terminal.checks).toBe(1);
  await at.clock.advance(1);
  expect(Date.parse(await asOf()) - Date.parse(first)).toBe(2_000);
  expect(at.terminal.checks).toBe(2);
  await asOf("?fresh=yes");
  expect(at.terminal.checks).toBe(3);
  expect((await call("GET", "/check?fresh=no")).http).toBe(400);
});

test("/check asks the terminal again after any message and any command", async () => {
  const { call, at } = await api();
  await call("GET", "/check");
  at.terminal.emit({ type: "protocol", text: "something" });
  await call("GET", "/check");
  expect(at.terminal.checks).toBe(2);
  await call("POST", "/payment", { amount: 1, orderId: "A-1" });
  await call("GET", "/check");
  expect(at.terminal.checks).toBe(3);
  at.terminal.unavailable = disconnected();
  expect((await check(call, "?fresh=yes"))["cr"]).toBe("9");
  at.terminal.unavailable = undefined;
  expect((await check(call))["cr"]).toBe("0");
});

test("/check, fresh or repeated, proves nothing about an order in doubt", async () => {
  const { call, at } = await api();
  const { lastTransaction } = at.terminal;
  const locked = new TerminalUnavailable("out-of-order", "locked");
  at.terminal.lastTransaction = () => Promise.reject(locked);
  at.terminal.script = () => Promise.resolve(lost("the line"));
  expect((await call("POST", "/payment", { amount: 1, orderId: "A-1" })).one.status).toBe(
    "Unknown",
  );
  for (const query of ["?fresh=yes", "", "?fresh=yes", ""]) {
    await call("GET", `/check${query}`);
    await at.clock.advance(1_000);
    const { error } = (await call("POST", "/payment", { amount: 1, orderId: "B-1" })).one;
    expect(error).toMatchObject({ code: "TERMINAL_IN_DOUBT", charged: "no" });
  }
  expect(at.terminal.checks).toBe(2);
  const { transactionId = "" } = at.journal.attempts.decisive("A-1") ?? {};
  const kinds = () => at.journal.attempts.events(transactionId).map(({ kind }) => kind);
  expect(kinds().filter((kind) => kind.startsWith("recovery"))).toEqual([]);
  at.terminal.lastTransaction = lastTransaction;
  await at.clock.advance(400_000);
  expect(kinds().filter((kind) => kind.startsWith("recovery"))).not.toEqual([]);
});

test("a repeated answer of /check makes no disconnected terminal ready for a sale", async () => {
  const { call, at } = await api();
  expect((await check(call))["cr"]).toBe("0");
  at.terminal.unavailable = disconnected();
  expect((await check(call))["cr"]).toBe("0");
  expect((await call("POST", "/payment", { amount: 1, orderId: "A-1" })).one).toMatchObject({
    status: "Failed",
    error: { code: "TERMINAL_DISCONNECTED", charged: "no" },
  });
  expect([at.terminal.checks, at.terminal.paid]).toEqual([1, []]);
});

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

test("a terminal that does not answer /check within its limit is not ready", async () => {
  const { call, at } = await api();
  at.terminal.check = untilAborted;
  const checked = check(call);
  await expect.poll(() => at.clock.running).toContain("terminal's answer");
  await at.clock.advance(10_000);
  expect(await checked).toMatchObject({
    cr: "9",
    detail: "the terminal did not answer within 10000 ms",
  });
  expect(at.arbiter.notReadyReasons).toMatchObject([{ code: "TERMINAL_NO_ANSWER" }]);
  expect((await call("GET", "/health")).one.status).toBe("NotReady");
});

test("a terminal whose driver uses it for longer than the limit of /check is busy", async () => {
  const { call, at } = await api();
  at.terminal.become({ busy: true });
  at.terminal.check = untilAborted;
  const checked = check(call);
  await expect.poll(() => at.clock.running).toContain("terminal's answer");
  await at.clock.advance(10_000);
  expect(await checked).toMatchObject({
    cr: "1",
    detail: "another command is running on the terminal",
  });
  expect(at.arbiter.notReadyReasons).toEqual([]);
});
