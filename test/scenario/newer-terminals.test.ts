import { describe, expect, onTestFinished, test } from "vitest";
import { until } from "../support/programs/child-program.ts";
import { type InstallationOptions, TestInstallation } from "../support/programs/installation.ts";
import { linesOr } from "../support/run/scope.ts";

async function installed(options: InstallationOptions): Promise<TestInstallation> {
  const at = new TestInstallation({ ...options, alone: true });
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  return at;
}

interface WireEvent {
  readonly what: string;
  readonly direction?: "in" | "out";
  readonly hex?: string;
}

async function apdus(at: TestInstallation): Promise<WireEvent[]> {
  const { events } = await at.control<{ events: WireEvent[] }>("GET", "/trace?last=2000");
  return events.filter(({ what }) => what === "apdu");
}

/** Production times would make the terminal's own limit three minutes. */
const quick = {
  TEST_TIMERS: "yes",
  ZVT_T1_MS: 100,
  ZVT_T2_MS: 500,
  ZVT_T3_MS: 1_000,
  ZVT_T4_MS: 2_000,
  RECOVERY_SILENCE_MS: 50,
  POLL_INTERVAL_MS: 100,
  GATEWAY_WAIT: 0,
};
const quickTerminal = ["--instant", "--t2-ms", "500", "--t3-ms", "1000", "--t4-ms", "2000"];

interface Compared {
  readonly reconciliation: object;
}

describe.each(linesOr("pty"))("a terminal that keeps what got no ACK, over %s", (line) => {
  const keeping = [...quickTerminal, "--no-auto-reversal"];

  async function missed(at: TestInstallation) {
    await at.firstPaid("before");
    const { charged: before, entries } = await at.ledger();
    await at.arm("unplug:at=reported,ms=50");
    await at.pay(5, "missed");
    const settled = await until("the order is settled", async () => {
      const { one } = await at.call("GET", "/payment/missed");
      return one.status === "Unknown" ? undefined : one;
    });
    await at.connected();
    expect((await at.pay(7, "next")).one.status).toBe("Success");
    const since = async () => {
      const ledger = await at.ledger();
      const added = ledger.entries.slice(entries.length);
      return {
        chargedMinor: ledger.charged - before,
        entries: added.map(({ kind, amountMinor }) => `${kind} ${amountMinor}`),
      };
    };
    return { status: settled.status, since };
  }

  test("reverses the hidden sale with the next one: the order is not charged", async () => {
    const at = await installed({
      line,
      terminalSwitches: [...keeping, "--hides-unacknowledged"],
      config: { ...quick, ZVT_SEND_LAST_RECEIPT: "yes" },
    });
    const { status, since } = await missed(at);
    expect(status).toBe("Failed");
    expect(await since()).toEqual({
      chargedMinor: 700,
      entries: ["charge 500", "reversal 500", "charge 700"],
    });
  });

  test("hides the sale for good: the end of day names the order", async () => {
    const at = await installed({
      line,
      terminalSwitches: [...keeping, "--hides-unacknowledged"],
      config: quick,
    });
    const { status, since } = await missed(at);
    expect(status).toBe("Failed");
    expect((await at.pay(5, "missed")).one.status).toBe("Success");
    expect((await since()).chargedMinor).toBe(1_700);
    const { reconciliation } = (await at.call("POST", "/tlc")).one as object as Compared;
    const orders = [{ orderId: "missed", told: "failed", chargedElsewhere: true, now: "Failed" }];
    expect(reconciliation).toMatchObject({
      result: "differs",
      sole: true,
      differenceMinor: 500,
      orders,
    });
    expect((await at.call("GET", "/reconciliation")).one).toEqual(reconciliation);
  });

  test("reports the sale: the order is charged, and nothing is reversed", async () => {
    const at = await installed({
      line,
      terminalSwitches: keeping,
      config: { ...quick, ZVT_SEND_LAST_RECEIPT: "yes" },
    });
    const { status, since } = await missed(at);
    expect(status).toBe("Success");
    expect((await since()).chargedMinor).toBe(1_200);
  });
});

describe.each(linesOr("tcp"))("a terminal that numbers its messages, over %s", (line) => {
  test("gets a number in every message and answer of a payment", async () => {
    const at = await installed({
      line,
      terminalSwitches: ["--instant", "--knows-1f73"],
      config: { GATEWAY_WAIT: 0 },
    });
    const { one } = await at.pay(5, "numbered");
    expect([one.status, one.error]).toEqual(["Success", null]);
    const all = await apdus(at);
    const agreed = all.findIndex(({ hex }) => /^060f.*1f7303000000$/.test(hex ?? ""));
    const numbers = all
      .slice(agreed + 2)
      .map(({ hex = "", direction }) => [
        direction,
        hex.slice(0, 2),
        /1f7303(\d{6})$/.exec(hex)?.[1],
      ]);
    expect(numbers.length).toBeGreaterThan(10);
    expect(numbers.filter(([, , id]) => id === undefined)).toEqual([]);
    let last = 0;
    for (const [, first, id] of numbers) {
      const isAnswer = first === "80" || first === "84";
      if (!isAnswer) last += 1;
      expect(Number(id)).toBe(last);
    }
  });
});
