import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/programs/child-program.ts";
import { type Answer, TestInstallation } from "../support/programs/installation.ts";
import { linesOr } from "../support/run/scope.ts";

const timers = {
  TEST_TIMERS: "yes",
  ZVT_T2_MS: 500,
  ZVT_T3_MS: 800,
  ZVT_T4_MS: 2_000,
  RECOVERY_SILENCE_MS: 100,
  POLL_INTERVAL_MS: 200,
  GATEWAY_WAIT: 0,
};
/** By hand here; by itself in end-of-day.test.ts. */
const config = { ...timers, AUTO_END_OF_DAY: "no" };

describe.each(linesOr("pty"))("every command of the API with the terminal on %s", (line) => {
  const at = new TestInstallation({
    line,
    alone: true,
    terminalSwitches: ["--instant", "--vending", "--reboot-ms", "300", "--goods-pause-ms", "100"],
    config,
  });
  beforeAll(async () => {
    await at.start();
    await at.connected();
  });
  afterAll(() => at.stop());

  const charged = async (): Promise<number> => (await at.ledger()).charged;

  async function approved(amount: number, orderId: string, withinSeconds = 60): Promise<void> {
    const { one } = await at.pay(amount, orderId, { delivery: { withinSeconds } });
    expect([one.status, one.error]).toEqual(["Approved", null]);
  }

  function deliver(orderId: string, delivered: boolean, amount?: number): Promise<Answer> {
    const body = { orderId, delivered, ...(amount === undefined ? {} : { amount }) };
    return at.call("POST", "/delivery", body);
  }

  /** A sale whose goods are not decided in time; the kiosk's decision comes too late. */
  async function deliversLate(): Promise<void> {
    await approved(5, "no-word", 1);
    await until("the window is over", async () => {
      const { one } = await at.call("GET", "/payment/no-word");
      return one.status === "Cancelled" || undefined;
    });
    expect((await at.call("GET", "/payment/no-word")).one.error).toMatchObject({
      code: "DELIVERY_UNCONFIRMED",
      charged: "no",
      retry: "never",
    });
    for (let times = 0; times < 2; times += 1) {
      expect((await deliver("no-word", true)).one.error).toMatchObject({
        code: "DELIVERY_DECIDED",
        charged: "no",
      });
    }
    const { one: silent } = await at.call("GET", "/payment/no-word");
    expect(silent.error?.code).toBe("DELIVERY_UNCONFIRMED");
    const event = '"kind":"goods-decided-late","goods":"issued"';
    expect(JSON.stringify(silent).split(event)).toHaveLength(2);
    const { one: health } = await at.call("GET", "/health");
    expect(JSON.stringify(health)).toContain("delivered-without-charge");
    expect((await deliver("no-word", false)).one.error?.code).toBe("GOODS_NOT_DELIVERED");
  }

  test("answers one call after the other with the truth", async () => {
    const { one: identity } = await at.call("GET", "/config");
    expect(identity).toMatchObject({
      serialNumber: expect.stringMatching(/^\d+$/),
      terminalId: expect.stringMatching(/^\d{8}$/),
      deviceId: expect.stringMatching(/./),
    });
    expect((await at.call("GET", "/check")).one).toMatchObject({
      cr: "0",
      card: "0",
      call: "0",
      periph: "0",
    });

    // A sale, and its return: once.
    expect((await at.pay(7, "sale")).one.status).toBe("Success");
    expect(await charged()).toBe(700);
    const reversal = await at.call("POST", "/reversal", { orderId: "sale" });
    expect([reversal.http, reversal.one.status]).toEqual([200, "Reversed"]);
    expect(await charged()).toBe(0);
    expect((await at.call("POST", "/reversal", { orderId: "sale" })).one.status).toBe("Reversed");
    expect((await at.pay(7, "sale")).one.error?.code).toBe("ORDER_REVERSED");
    expect((await at.ledger()).entries).toHaveLength(2);

    // Goods that came out, came out in part, and did not.
    await approved(5, "issued");
    expect((await deliver("issued", true)).one.status).toBe("Success");
    expect(await charged()).toBe(500);
    await approved(5, "part");
    const part = await deliver("part", true, 2);
    expect([part.one.status, part.one.receipt?.["amount"]]).toEqual(["Success", "00000200"]);
    expect(await charged()).toBe(700);
    await approved(5, "withheld");
    const withheld = await deliver("withheld", false);
    expect([withheld.one.status, withheld.one.error?.code]).toEqual([
      "Cancelled",
      "GOODS_NOT_DELIVERED",
    ]);
    expect(await charged()).toBe(700);
    await deliversLate();
    expect(await charged()).toBe(700);

    // The end of day closes the storage: then nothing is reversed any more.
    const tlc = await at.call("POST", "/tlc");
    expect(tlc.http).toBe(200);
    expect(tlc.one).toMatchObject({
      NbApp: "1",
      App: [{ Name: "Mastercard", Status: "0", Count: "2", Sum: "7.00" }],
      ticket: expect.stringContaining("END OF DAY"),
    });
    const late = await at.call("POST", "/reversal", { orderId: "issued" });
    expect(late.one.error).toMatchObject({ code: "REVERSAL_REFUSED", charged: "yes" });

    const reset = await at.call("POST", "/reset");
    expect([reset.http, reset.one.status]).toEqual([200, "Success"]);
    expect((await at.call("GET", "/check")).one.cr).toBe("0");
    expect((await at.pay(1, "after")).one.status).toBe("Success");
    expect(await charged()).toBe(800);
  });

  test("shows what the terminal demands, and refuses a payment before it starts", async () => {
    const demand = (body: object) => at.control("POST", "/state", body);
    await demand({ demand: { "end-of-day": true } });
    const { one: due } = await at.call("GET", "/check");
    expect([due.cr, due.call]).toEqual(["2", "1"]);
    const { http, one } = await at.pay(3, "refused");
    expect([http, one.error?.code, one.error?.charged]).toEqual([
      503,
      "TERMINAL_OUT_OF_ORDER",
      "no",
    ]);
    expect((await at.call("POST", "/tlc")).http).toBe(200);
    expect((await at.call("GET", "/check")).one.call).toBe("0");

    // The terminal's own housekeeping needs nobody.
    await demand({ demand: { initialisation: true } });
    await until("the terminal is initialised", async () => {
      const { one: state } = await at.call("GET", "/check?fresh=yes");
      return state.cr === "0" || undefined;
    });
    expect((await at.pay(3, "again")).one.status).toBe("Success");
  });
});
