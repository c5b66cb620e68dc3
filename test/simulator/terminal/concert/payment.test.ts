import { describe, expect, test } from "vitest";
import { asSlow } from "../../../support/clocks/patience.ts";
import { ACK, ENQ, EOT, frameOf } from "./support/register.ts";
import {
  bank,
  fixedRequest,
  type Setting,
  settings,
  started,
  taggedRequest,
  tags,
} from "./support/started.ts";

const QUIET_MS = asSlow(400);
const session: Setting = { transport: "tcp", family: "concert", sessions: true };
const bare: Setting = { transport: "tcp", family: "caisse-ap", sessions: false };

const titled = settings.map((setting) => ({
  ...setting,
  title: `${setting.family}, ${setting.sessions ? "in sessions" : "bare"}, on ${setting.transport}`,
}));

/** The reply of one payment, whatever carries it. */
async function replyOf(setting: Setting, amountMinor: number): Promise<string> {
  const { register } = await started(setting);
  if (!setting.sessions) {
    register.say(taggedRequest(amountMinor));
    return (await register.rest(QUIET_MS)).join("");
  }
  const body =
    setting.family === "concert" ? fixedRequest(amountMinor) : taggedRequest(amountMinor);
  const exchange = await register.ask(body, QUIET_MS);
  expect([...exchange.slice(0, 3), exchange[4], ...exchange.slice(5)]).toEqual([
    "ack",
    "ack",
    "enq",
    "eot",
  ]);
  return String(exchange[3]).slice(1);
}

describe.each(titled)("$title", (setting) => {
  test("a payment is charged and reported", async () => {
    const reply = await replyOf(setting, 1200);
    if (setting.family === "concert") {
      expect(reply).toMatch(/^010000012001541333X{6}0006 {39}978 {10}$/);
      return;
    }
    expect(reply).toContain("AE00210");
    expect(reply).toContain("CB0041200");
    expect(reply).toContain("AA016541333######0006");
    expect(reply.length).toBeLessThan(1_024);
  });

  test("a refusal is reported, and nothing is charged", async () => {
    const reply = await replyOf(setting, 1205);
    expect(reply).toMatch(
      setting.family === "concert" ? /^017000012051 {55}978/ : /AE00201AF00204/,
    );
  });
});

describe("a request of fixed fields", () => {
  test("without a report is answered with 25 characters and its private data", async () => {
    const { register } = await started(session);
    const exchange = await register.ask(
      fixedRequest(900, { flag: "0", reference: "A-17" }),
      QUIET_MS,
    );
    expect(exchange[3]).toBe(":010000009001978A-17      ");
  });

  test("that asks for an answer at once gets status 9, and nothing follows", async () => {
    const { register, simulator } = await started(session);
    const exchange = await register.ask(
      fixedRequest(900, { flag: "0", options: "A011B010" }),
      QUIET_MS,
    );
    expect(exchange).toEqual(["ack", "ack", "enq", ":019000009001978          ", "eot"]);
    expect(bank(simulator)).toEqual(["charge 900"]);
  });

  test("of another variant is refused with NAK", async () => {
    const { register, simulator } = await started(session, { behaviour: { variant: "e" } });
    expect(await register.ask(fixedRequest(900), QUIET_MS)).toEqual(["ack", "nak"]);
    const exchange = await register.ask(fixedRequest(900, { options: "" }), QUIET_MS);
    expect(exchange.at(3)).toMatch(/^:010/);
    expect(bank(simulator)).toEqual(["charge 900"]);
  });

  test("with a ticket is answered with the lines after the private field", async () => {
    const { register } = await started(session, { behaviour: { variant: "e-ticket" } });
    const exchange = await register.ask(
      fixedRequest(900, { flag: "0", options: "T012" }),
      QUIET_MS,
    );
    expect(exchange[3]).toMatch(/^:010000009001978 {10}CARTE BANCAIRE\n/);
  });

  test("for a credit and for a cancellation moves the money back", async () => {
    const { register, simulator } = await started(session);
    for (const type of ["0", "2", "2", "1", "4"]) {
      await register.ask(fixedRequest(900, { type }), QUIET_MS);
    }
    expect(bank(simulator)).toEqual(["charge 900", "reversal 900", "refund 900"]);
  });
});

describe("a message of tags", () => {
  test.each([
    { what: "asks who is there", given: { CD: "I", CB: "", CE: "" }, reported: /CD001IAE00210$/ },
    { what: "lacks an amount", given: { CB: "" }, reported: /AE00201AF00209$/ },
    { what: "has another action", given: { CD: "7" }, reported: /AE00201AF00212$/ },
    { what: "has another currency", given: { CE: "840" }, reported: /AE00201AF00213$/ },
  ])("that $what is answered", async ({ given, reported }) => {
    const { register, simulator } = await started(bare);
    const message = { CZ: "0300", CJ: "012", CA: "01", CE: "978", CD: "0", CB: "1200", ...given };
    register.say(tags(Object.fromEntries(Object.entries(message).filter(([, value]) => value))));
    const [reply, end] = await register.rest(asSlow(1_000));
    expect(reply).toMatch(reported);
    expect(end).toBe("closed");
    expect(bank(simulator)).toEqual([]);
  });

  test("is taken with a line end after it, and in pieces of one byte", async () => {
    const { register, simulator } = await started(bare, { timers: { gapMs: 100 } });
    for (const byte of `${taggedRequest(1200)}\r\n`) register.say(byte);
    expect((await register.rest(asSlow(1_000))).join("")).toMatch(/AE00210.*closed$/s);
    expect(bank(simulator)).toEqual(["charge 1200"]);
  });

  test("that wants an answer at once gets AE 11, and nothing follows", async () => {
    const { register, simulator } = await started(bare);
    register.say(taggedRequest(1200, { BA: "1" }));
    expect((await register.rest(asSlow(1_000))).join("")).toMatch(/AE00211closed$/);
    await simulator.terminal.idle();
    expect(bank(simulator)).toEqual(["charge 1200"]);
  });

  test.each([1200, 1205])(
    "that asks for a receipt gets one with line feeds, of %i",
    async (amount) => {
      const { register } = await started(bare);
      register.say(taggedRequest(amount, { CK: "100", CF: "A-1" }));
      const reply = (await register.rest(asSlow(1_000)))[0] ?? "";
      expect(reply).toContain("CF003A-1");
      const [, length, container = ""] = /ZT(\d{3})(.*)$/s.exec(reply) ?? [];
      expect(container).toHaveLength(Number(length));
      const [, requested, text = ""] = /^CK003(\d{3})AK\d{3}(.*)\n$/s.exec(container) ?? [];
      expect(requested).toBe("100");
      expect(text).toContain("\n");
      expect(Buffer.from(text, "base64").toString("latin1")).toMatch(/^CARTE BANCAIRE\n/);
    },
  );

  test("during a payment is answered that the terminal is busy", async () => {
    const { register, simulator, reconnect } = await started(bare, {
      behaviour: { customer: "manual" },
    });
    register.say(taggedRequest(1200));
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    const other = await reconnect();
    other.say(taggedRequest(700, { CD: "I" }));
    expect((await other.rest(asSlow(1_000))).join("")).toMatch(/AE00201AF00210closed$/);
    simulator.terminal.parts.customer.act({ action: "insert" });
    await simulator.terminal.idle();
    expect(bank(simulator)).toEqual(["charge 1200"]);
  });
});

describe("a session", () => {
  test("is refused with NAK while a payment runs, and taken again after it", async () => {
    const { register, simulator } = await started(session, { behaviour: { customer: "manual" } });
    expect(await register.ask(fixedRequest(1200), QUIET_MS)).toEqual(["ack", "ack"]);
    register.say(ENQ);
    expect(await register.next(QUIET_MS)).toBe("nak");
    simulator.terminal.parts.customer.act({ action: "insert" });
    expect((await register.rest(QUIET_MS)).map((heard) => heard.slice(0, 4))).toEqual([
      "enq",
      ":010",
      "eot",
    ]);
    register.say(ENQ);
    expect(await register.next(QUIET_MS)).toBe("ack");
  });

  test("without a frame ends by itself, and a frame after it begins nothing", async () => {
    const { register, simulator } = await started(session);
    register.say(ENQ);
    expect(await register.next(QUIET_MS)).toBe("ack");
    expect(await register.rest(asSlow(500))).toEqual([]);
    register.say(frameOf(fixedRequest(1200)));
    expect(await register.rest(QUIET_MS)).toEqual([]);
    expect(bank(simulator)).toEqual([]);
  });

  test("that the register ends without a frame begins nothing", async () => {
    const { register, simulator } = await started(session);
    register.say(ENQ);
    expect(await register.next(QUIET_MS)).toBe("ack");
    register.say(EOT);
    expect(await register.rest(QUIET_MS)).toEqual([]);
    expect((await register.ask(fixedRequest(1200), QUIET_MS)).at(-1)).toBe("eot");
    expect(bank(simulator)).toEqual(["charge 1200"]);
  });

  test("begins with up to three ENQ, and repeats a reply after each of three NAK", async () => {
    const { register, simulator } = await started(session);
    register.polite = false;
    const silent = await register.ask(fixedRequest(1200), QUIET_MS);
    expect(silent).toEqual(["ack", "ack", ...Array(3).fill(["enq", "eot"]).flat()]);
    register.say(ENQ);
    expect(await register.next(QUIET_MS)).toBe("ack");
    register.say(frameOf(fixedRequest(1300)));
    expect(await register.next(QUIET_MS)).toBe("ack");
    register.say(EOT);
    expect(await register.next(QUIET_MS)).toBe("enq");
    register.say(ACK);
    for (let sent = 1; sent <= 4; sent++) {
      expect(await register.next(QUIET_MS)).toMatch(/^:010/);
      register.say("\x15");
    }
    expect(await register.next(QUIET_MS)).toBe("eot");
    await simulator.terminal.idle();
    expect(bank(simulator)).toEqual(["charge 1200", "charge 1300"]);
  });

  test("brings a result on the connection that is open when the result is ready", async () => {
    const { register, simulator, reconnect } = await started(session, {
      behaviour: { customer: "manual" },
    });
    expect(await register.ask(fixedRequest(1200), QUIET_MS)).toEqual(["ack", "ack"]);
    await register.close();
    const later = await reconnect();
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    simulator.terminal.parts.customer.act({ action: "insert" });
    expect((await later.rest(QUIET_MS)).map((heard) => heard.slice(0, 4))).toEqual([
      "enq",
      ":010",
      "eot",
    ]);
  });
});
