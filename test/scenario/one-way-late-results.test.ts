import { type onTestFinished, test } from "vitest";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";
import { linesOr } from "../support/run/scope.ts";

const families = [
  { protocol: "concert", own: {}, session: [], usual: "tcp" },
  {
    protocol: "caisse-ap",
    own: { CAISSE_AP_LINK: "session" },
    session: ["--session"],
    usual: "pty",
  },
] as const;
const rows = families.flatMap((family) =>
  linesOr(family.usual).map((line) => ({ ...family, line })),
);

interface State {
  readonly running: { readonly phase: string } | null;
}

/** Each row has an installation of its own, because most of its time is waiting. */
async function started(
  { line, protocol, own, session }: (typeof rows)[number],
  finished: typeof onTestFinished,
) {
  const house = new TestInstallation({
    line,
    terminalSwitches: ["--protocol", protocol, ...session, "--instant", "--enq-tries", "0"],
    config: {
      TERMINAL_PROTOCOL: protocol,
      ...own,
      PAYMENT_TIMEOUT: 2,
      PAYMENT_GRACE: 1,
      TEST_TIMERS: "yes",
      RECOVERY_SILENCE_MS: 50,
    },
  });
  finished(() => house.stop());
  await house.start();
  await house.connected();
  return house;
}

test.concurrent.for(rows)(
  "a late result counts, an unmatched sale does not, with $protocol on $line",
  async (row, { expect, onTestFinished }) => {
    const house = await started(row, onTestFinished);
    const gatewayHas = async () =>
      (await house.orders()).map(({ merchantReference, amount }) => [
        merchantReference,
        Number(amount),
      ]);
    // A result that comes after tp-manager was killed.
    await house.arm("hold:at=card");
    const lost = house.pay(12, "A-1").catch(() => undefined);
    await until("the customer stands there", async () => {
      const { running } = await house.control<State>("GET", "/state");
      return running?.phase === "card" || undefined;
    });
    await house.tpManager?.end("SIGKILL");
    await lost;
    await house.startTpManager();
    expect((await house.call("GET", "/payment/A-1")).one.status).toBe("Unknown");
    await house.disarm();
    await until("the late result counts", async () => {
      const { one } = await house.call("GET", "/payment/A-1");
      return (one.status === "Success" && one.notificationGatewaySent) || undefined;
    });
    expect((await house.ledger()).charged).toBe(1_200);
    expect(await gatewayHas()).toEqual([["A-1", 12]]);
    const next = await until("the terminal is free", async () => {
      const { one } = await house.pay(7, "A-2");
      return one.status === "Success" ? one : undefined;
    });
    expect(next.receipt["primaryAccountNumber"]).toMatch(/X{6}/);
    expect((await house.ledger()).charged).toBe(1_900);
    // A sale that is no order's, with the amount of one.
    await until("the terminal has ended what it did before", async () => {
      const sale = { amountMinor: 700, private: "nobody" };
      return await house.control<object>("POST", "/sale", sale).catch(() => undefined);
    });
    await until("the terminal has reported it", async () => {
      const { entries } = await house.ledger();
      const { running } = await house.control<State>("GET", "/state");
      return (entries.length === 3 && running === null) || undefined;
    });
    expect((await house.pay(5, "A-3")).one.status).toBe("Success");
    expect((await gatewayHas()).toSorted()).toEqual([
      ["A-1", 12],
      ["A-2", 7],
      ["A-3", 5],
    ]);
    expect((await house.ledger()).charged).toBe(3_100);
  },
);
