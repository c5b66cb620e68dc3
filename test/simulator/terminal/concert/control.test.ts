import { describe, expect, test } from "vitest";
import { PATIENCE_MS } from "../../../support/clocks/patience.ts";
import { ENQ, EOT } from "./support/register.ts";
import {
  bank,
  fixedRequest,
  type Given,
  type Setting,
  started,
  taggedRequest,
} from "./support/started.ts";

const session: Setting = { transport: "tcp", family: "concert", sessions: true };
const bare: Setting = { transport: "tcp", family: "caisse-ap", sessions: false };
const beginnings = (exchange: readonly string[]): string[] =>
  exchange.map((one) => one.slice(0, 4));

/** A terminal with its control API. */
async function controlled(setting: Setting, given: Given = {}) {
  const at = await started(setting, { controlPort: 0, ...given });
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${at.simulator.controlUrl}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const waiting = () =>
    expect.poll(() => at.simulator.terminal.parts.customer.wanted).not.toBeNull();
  return { ...at, call, waiting };
}

describe("the control API", () => {
  test("sells without a request, and reports it by an ENQ of the terminal's own", async () => {
    const { register, simulator, call } = await controlled(session);
    const sale = { amountMinor: 700, private: "X-9" };
    expect((await call("POST", "/sale", sale)).status).toBe(200);
    const exchange = await register.rest(PATIENCE_MS);
    expect(exchange).toEqual(["enq", expect.stringMatching(/^:010000007001.*978X-9 {7}$/), "eot"]);
    expect(bank(simulator)).toEqual(["charge 700"]);
    expect((await call("GET", "/state")).body).toMatchObject({
      running: null,
      lastReplyDelivered: true,
    });
  });

  test("sends the last reply again, and nothing when there is none", async () => {
    const { register, simulator, call } = await controlled(session);
    expect((await call("POST", "/again")).status).toBe(409);
    const [, , , reply] = await register.ask(fixedRequest(1200), PATIENCE_MS);
    expect((await call("POST", "/again")).status).toBe(200);
    expect(await register.rest(PATIENCE_MS)).toEqual(["enq", reply, "eot"]);
    expect(bank(simulator)).toEqual(["charge 1200"]);
  });

  test("offers neither sale nor repeat where there are no sessions", async () => {
    const { call } = await controlled(bare);
    for (const path of ["/sale", "/again"]) {
      expect((await call("POST", path, { amountMinor: 100 })).status).toBe(409);
    }
  });

  test("lets the customer press the stop key, and reports no amount then", async () => {
    const one = await controlled(bare, { behaviour: { customer: "manual" } });
    one.register.say(taggedRequest(1200));
    await one.waiting();
    expect((await one.call("GET", "/state")).body).toMatchObject({
      running: { action: "debit", amountMinor: 1200, phase: "card" },
    });
    await one.call("POST", "/customer", { action: "cancel" });
    const [answer] = await one.register.rest(PATIENCE_MS);
    expect(answer).toMatch(/AE00201AF00206$/);
    expect(answer).not.toContain("CB0");
    expect(bank(one.simulator)).toEqual([]);
  });

  test("holds a payment with a fault and lets it go on", async () => {
    const { register, call, simulator } = await controlled(session, { faults: ["hold:at=host"] });
    const asked = register.ask(fixedRequest(1200), PATIENCE_MS);
    await expect
      .poll(async () => (await call("GET", "/state")).body)
      .toMatchObject({
        running: { phase: "host" },
      });
    expect(bank(simulator)).toEqual([]);
    await call("DELETE", "/faults");
    expect(beginnings(await asked)).toEqual(["ack", "ack", "enq", ":010", "eot"]);
  });

  test("puts the terminal out of order: ENQ gets NAK", async () => {
    const { register, call } = await controlled(session);
    await call("POST", "/state", { outOfOrder: true });
    register.say(ENQ);
    expect(await register.next(PATIENCE_MS)).toBe("nak");
    register.say(EOT);
    await call("POST", "/state", { outOfOrder: false });
    expect(beginnings(await register.ask(fixedRequest(1200), PATIENCE_MS)).at(-1)).toBe("eot");
  });

  test("describes its own routes", async () => {
    const { call } = await controlled(session);
    expect((await call("GET", "/")).body).toMatchObject({
      "POST /sale": expect.stringContaining("no register asked"),
      "POST /again": expect.stringContaining("once more"),
    });
  });
});
