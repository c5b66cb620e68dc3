import { expect, test } from "vitest";
import { house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { baseline, identity, report } from "../../support/terminals/reports.ts";

/** Pays an order on a terminal that reports `change` in its identity. */
async function payAt(
  at: ReturnType<typeof house>,
  orderId: string,
  change: Partial<typeof identity>,
) {
  const now = { ...identity, ...change };
  at.terminal.become({ identity: now });
  at.terminal.baseline = { ...baseline, identity: now };
  at.terminal.script = (order, observer) => {
    const { amountMinor } = order;
    const localTime = `13${orderId.slice(-4)}`;
    observer.report(
      report({ amountMinor, localTime, receiptNumber: "0009", traceNumber: orderId }),
    );
    observer.ackArrived();
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  return outcome(await pay(at, request(orderId)));
}

test.each([
  ["serial number", { serialNumber: "" }, { serialNumber: "SN-2" }],
  ["terminal id", { terminalId: "" }, { terminalId: "52500002" }],
])(
  "a %s that was reported once still counts after a terminal has left it out",
  async (...given) => {
    const [, silent, another] = given;
    const at = house();
    expect(await payAt(at, "000021", {})).toBe("Success");
    expect(await payAt(at, "000022", silent)).toBe("Success");
    expect(at.arbiter.identityCheck.replaced).toBeUndefined();
    const answer = await payAt(at, "000023", { ...another });
    expect(answer).toBe("Failed");
    expect(at.terminal.paid).toHaveLength(2);
  },
);

test("a member of the identity that is reported later counts from then on", async () => {
  const at = house();
  expect(await payAt(at, "000021", { serialNumber: "" })).toBe("Success");
  expect(await payAt(at, "000022", { serialNumber: "SN-7" })).toBe("Success");
  expect(await payAt(at, "000023", { serialNumber: "SN-8" })).toBe("Failed");
});
