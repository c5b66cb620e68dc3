import { describe, expect, test } from "vitest";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { NumberingTerminal } from "../../support/terminals/numbering-terminal.ts";
import { report } from "../../support/terminals/reports.ts";

function kiosk(): { at: House; terminal: NumberingTerminal } {
  const terminal = new NumberingTerminal();
  return { at: house(undefined, terminal, { isShared: true }), terminal };
}

async function sell(at: House, orderId: string, amountMinor = 500): Promise<void> {
  expect(outcome(await pay(at, request(orderId, { amountMinor })))).toBe("Success");
}

/** Staff run an end of day and sell the same amount: their sale gets the number of ours. */
function soldByStaff(terminal: NumberingTerminal): void {
  terminal.clear();
  terminal.sellAtKeys(500);
}

/** Shows its last sale without date and time. */
function untimed(terminal: NumberingTerminal): void {
  const last = terminal.bank.at(-1)?.report;
  const timeless = { ...last, localDate: null, localTime: null };
  terminal.store({ kind: "transaction", report: report(timeless) });
}

describe("a receipt number at a terminal where staff sell too (docs/rules/16-fresh.md)", () => {
  const cases: Array<[string, (at: House, terminal: NumberingTerminal) => unknown]> = [
    [
      "the terminal does not show its last transaction",
      (_at, terminal) => {
        terminal.repeatsLast = false;
        soldByStaff(terminal);
      },
    ],
    [
      "the terminal shows that sale without date and time",
      (_at, terminal) => {
        soldByStaff(terminal);
        untimed(terminal);
      },
    ],
    [
      "a later order of ours found that sale without date and time",
      async (at, terminal) => {
        soldByStaff(terminal);
        untimed(terminal);
        await sell(at, "B", 700);
      },
    ],
  ];

  test.each(cases)("is not used for a reversal when %s", async (_name, happens) => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    await happens(at, terminal);
    const before = [...terminal.charged];
    const unsafe = { code: "REVERSAL_NOT_SAFE", charged: "yes" };
    await expect(at.afterSale.reverse("A")).rejects.toMatchObject(unsafe);
    expect([terminal.reversed, terminal.charged]).toEqual([[], before]);
  });

  test("names the sale that the terminal shows with date and time", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    const { attempt } = await at.afterSale.reverse("A");
    expect([attempt.state.phase, terminal.charged]).toEqual(["reversed", []]);
  });
});
