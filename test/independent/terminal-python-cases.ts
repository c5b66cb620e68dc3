import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";
import { isWhole, rowsOf } from "../support/run/scope.ts";
import { MockTerminal, type Plan } from "./programs.ts";

/**
 * A late byte of ACK on the serial line is a repeat, which this terminal complains of;
 * a TCP connection has none, and T2 only makes recovery wait.
 */
const T2_MS = { tcp: 500, pty: 2_500 };

export const timers = {
  TEST_TIMERS: "yes",
  ZVT_T3_MS: 1_500,
  ZVT_T4_MS: 1_500,
  RECOVERY_SILENCE_MS: 100,
  POLL_INTERVAL_MS: 200,
  GATEWAY_WAIT: 0,
  // A test asks for the end of day that is demanded; the connector must not be quicker.
  AUTO_END_OF_DAY: "no",
};

/**
 * tp-manager before a terminal that was written from the protocol alone, in another
 * language, and that notes every offence of the register: layouts, timers, messages out of turn.
 */
export function terminalCases(line: "tcp" | "pty"): void {
  const folder = mkdtempSync(join(tmpdir(), "utc-python-"));
  let at: TestInstallation;
  let mock: MockTerminal;

  beforeAll(async () => {
    const link = join(folder, "python");
    mock = await MockTerminal.start(...(line === "tcp" ? ["--tcp", "0"] : ["--pty", link]));
    const port = line === "tcp" ? `tcp://127.0.0.1:${mock.at}` : link;
    at = new TestInstallation({
      line: "own",
      alone: true,
      config: { ...timers, ZVT_T2_MS: T2_MS[line], SERIAL_PORT: port },
    });
    await at.start();
    await at.connected();
  });

  afterAll(async () => {
    await at.stop();
    await mock.stop();
    rmSync(folder, { recursive: true });
  });

  afterEach(async () => {
    await mock.books();
    expect(mock.problems, context(mock)).toEqual([]);
  });

  async function sales(): Promise<number> {
    return Object.values(await mock.books()).reduce((sum, amount) => sum + amount, 0);
  }

  /** The order's answer once it is known what became of it. */
  function settled(orderId: string): Promise<string> {
    return until(`${orderId} is settled`, async () => {
      const { one } = await at.call("GET", `/payment/${orderId}`);
      const running = one.status === "Unknown" || one.status === "Running";
      return running ? undefined : one.status;
    });
  }

  // Over TCP every case; over a pty those whose course the line decides, in the whole scope all.
  const anyLine = line === "tcp" ? test : test.skipIf(!isWhole);

  anyLine("reports the identity and the state of the terminal", async () => {
    expect((await at.call("GET", "/config")).one).toMatchObject({
      serialNumber: "12345678",
      deviceId: "MOCK",
      terminalId: "52004711",
    });
    const ready = { cr: "0", card: "0", call: "0", periph: "0" };
    expect((await at.call("GET", "/check")).one).toMatchObject(ready);
  });

  test("pays, and reverses the sale only once", async () => {
    const before = await sales();
    const { one } = await at.pay(12.5, "first");
    expect([one.status, one.receipt?.["primaryAccountNumber"], one.ticket]).toEqual([
      "Success",
      "411111XXXXXX1111",
      "HAENDLERBELEG|SUMME 1250|DANKE",
    ]);
    expect(await sales()).toBe(before + 1250);
    const reversals = mock.count("0630");
    for (let i = 0; i < 2; i++) {
      const reversal = await at.call("POST", "/reversal", { orderId: "first" });
      expect(reversal.one.status).toBe("Reversed");
    }
    expect([await sales(), mock.count("0630")]).toEqual([before, reversals + 1]);
  });

  anyLine("answers a decline, a refusal, and a reversal that is not carried out", async () => {
    const before = await sales();
    mock.plan({ result: 5 });
    expect((await at.pay(1, "declined")).one).toMatchObject({
      status: "Declined",
      error: { code: "PAYMENT_DECLINED", charged: "no" },
    });
    mock.plan({ refuse: "a0" });
    const { one } = await at.pay(1, "refused");
    expect([one.status, one.error?.charged]).toEqual(["Failed", "no"]);
    expect((await at.pay(2, "stays")).one.status).toBe("Success");
    mock.plan({ result: 0xb5 });
    const reversal = await at.call("POST", "/reversal", { orderId: "stays" });
    expect(reversal.one.error).toMatchObject({ code: "REVERSAL_REFUSED", charged: "yes" });
    expect(await sales()).toBe(before + 200);
  });

  anyLine.each([
    { name: "obeyed", plan: { wait: true, minutes: [1] }, status: "Cancelled" },
    { name: "refused", plan: { seconds: 1, deaf: true, minutes: [1] }, status: "Success" },
    { name: "taken too late", plan: { wait: true, late: true, minutes: [1] }, status: "Success" },
  ] satisfies { name: string; plan: Plan; status: string }[])(
    "a cancel that is $name decides nothing by itself",
    async ({ name, plan, status }) => {
      const before = await sales();
      const orderId = `cancel-${name.replaceAll(" ", "-")}`;
      const started = mock.count("0601");
      mock.plan(plan);
      const paying = at.pay(3, orderId);
      await until("the card is awaited", () => mock.count("0601") > started || undefined);
      await at.call("POST", "/cancel");
      expect((await paying).one.status).toBe(status);
      expect(await sales()).toBe(before + (status === "Success" ? 300 : 0));
    },
  );

  anyLine("charges in two phases the whole amount, a part, or nothing", async () => {
    const before = await sales();
    const decide = async (orderId: string, body: object, withinSeconds = 30) => {
      const delivery = { withinSeconds };
      expect((await at.pay(9, orderId, { delivery })).one.status).toBe("Approved");
      return (await at.call("POST", "/delivery", { orderId, ...body })).one.status;
    };
    expect(await decide("out", { delivered: true })).toBe("Success");
    expect(await decide("part", { delivered: true, amount: 4 })).toBe("Success");
    expect(await decide("none", { delivered: false })).toBe("Cancelled");
    expect(await sales()).toBe(before + 900 + 400);
    // Long enough for the driver to say "not ready yet" and to be asked again.
    const delivery = { withinSeconds: 8 };
    mock.plan({ pause: 0.3 });
    expect((await at.pay(5, "late", { delivery })).one.status).toBe("Approved");
    await until("84 9C was said", () =>
      mock.events.slice(-3).find(({ event, answer }) => event === "goods" && answer === "849C"),
    );
    const late = await at.call("POST", "/delivery", { orderId: "late", delivered: true });
    expect(late.one.status).toBe("Success");
    expect(await sales()).toBe(before + 900 + 400 + 500);
  });

  const drops = [
    { drop: "before answer", keep: false },
    { drop: "after answer", keep: false },
    { drop: "before result", keep: false },
    { drop: "result sent", keep: false },
    { drop: "result sent", keep: true },
    { drop: "result answered", keep: false },
    { drop: "result answered", keep: true },
    { drop: "before end", keep: true },
  ] as const;
  // Each of them on one of the two lines, in the whole scope on both.
  const tried = rowsOf(drops, 2, line === "tcp" ? 0 : 1);
  test.each(tried)(
    "a link lost $drop, kept: $keep, ends with the truth",
    async ({ drop, keep }) => {
      const before = await sales();
      const orderId = `lost-${drop.replaceAll(" ", "-")}-${keep}`;
      const started = mock.count("0601");
      mock.plan({ drop, keep, away: 0.5 });
      const { one } = await at.pay(4, orderId);
      const first = one.status === "Unknown" ? await settled(orderId) : one.status;
      const charged = (await sales()) - before;
      expect(first).toBe(charged === 400 ? "Success" : "Failed");
      expect([charged, mock.count("0601") - started]).toEqual([keep ? 400 : 0, 1]);
    },
  );

  anyLine("closes the day, restarts, and carries out what the terminal demands", async () => {
    expect((await at.pay(7, "before the end")).one.status).toBe("Success");
    const total = await sales();
    const tlc = await at.call("POST", "/tlc");
    expect(tlc.one).toMatchObject({ App: [{ Status: "0", Sum: (total / 100).toFixed(2) }] });
    expect(await sales()).toBe(0);
    expect((await at.call("POST", "/reset")).one.status).toBe("Success");
    mock.state("F0");
    expect((await at.call("GET", "/check")).one).toMatchObject({ cr: "2", call: "1" });
    const { one } = await at.pay(7, "locked");
    expect(one.error).toMatchObject({ code: "TERMINAL_OUT_OF_ORDER", charged: "no" });
    expect((await at.call("POST", "/tlc")).http).toBe(200);
    const initialised = mock.count("0693");
    mock.state("51");
    await until("it was initialised", () => mock.count("0693") > initialised || undefined);
    expect((await at.pay(7, "after")).one.status).toBe("Success");
  });
}

/** The problems that the terminal found, each after the events before it. */
export function context({ events }: MockTerminal): string {
  const around = events.flatMap(({ event }, i) =>
    event === "problem" ? events.slice(Math.max(0, i - 6), i + 2) : [],
  );
  return around.map((event) => JSON.stringify(event)).join("\n");
}
