import { describe, expect, test } from "vitest";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import type { TransactionReport } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { NumberingTerminal } from "../../support/terminals/numbering-terminal.ts";
import { declined, identity, report } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

function kiosk(isShared = true): { at: House; terminal: NumberingTerminal } {
  const terminal = new NumberingTerminal();
  return { at: house(undefined, terminal, { isShared }), terminal };
}

async function sell(at: House, orderId: string, amountMinor = 500): Promise<void> {
  const { body } = await pay(at, request(orderId, { amountMinor, echo: { amount: 5 } }));
  expect([orderId, body.status]).toEqual([orderId, "Success"]);
}

async function reverse(at: House, orderId: string): Promise<string> {
  const { attempt, delivery } = await at.afterSale.reverse(orderId);
  return answerOf(attempt, delivery).body.status;
}

const phaseOf = (at: House, orderId: string) => at.journal.attempts.decisive(orderId)?.state.phase;

/** The terminal refuses the reversal, and has stored it a moment later all the same. */
function refuseThenReverse(terminal: NumberingTerminal): void {
  terminal.reversal = ({ receiptNumber }) => {
    terminal.reverseAtKeys(receiptNumber);
    const end = { end: "aborted", code: "6C", text: "aborted", reason: "cancelled" } as const;
    return Promise.resolve({ ...end, ticket: "" });
  };
}

/** A card is declined for order B. `afterwards` may store the decline in the terminal. */
async function decline(
  at: House,
  terminal: NumberingTerminal,
  afterwards: (reported: TransactionReport) => void = () => {},
): Promise<void> {
  const { script } = terminal;
  terminal.script = (_order, observer) => {
    const reported = declined({ traceNumber: "000099" });
    observer.report(reported);
    afterwards(reported);
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  expect((await pay(at, request("B"))).body.status).toBe("Declined");
  terminal.script = script;
}

const unsafe = { code: "REVERSAL_NOT_SAFE", charged: "yes" };

describe("a receipt number that may name another sale (docs/rules/16-fresh.md)", () => {
  const between: Array<[string, (at: House, terminal: NumberingTerminal) => unknown]> = [
    [
      "the memory was cleared and the number was used again",
      async (at, terminal) => {
        terminal.clear();
        await sell(at, "B");
      },
    ],
    [
      "the terminal closed by itself and began its numbers again",
      async (at, terminal) => {
        terminal.closeBooks({ restarts: true });
        await sell(at, "B");
      },
    ],
    ["the memory was cleared", (_at, terminal) => terminal.clear()],
    [
      "the memory was cleared and something was sold at the terminal's own keys",
      (_at, terminal) => {
        terminal.clear();
        terminal.sellAtKeys(500);
      },
    ],
    ["something was sold at the terminal's own keys", (_at, terminal) => terminal.sellAtKeys(700)],
    [
      "something was sold at the terminal's own keys, and then an order",
      async (at, terminal) => {
        terminal.sellAtKeys(700);
        void pay(at, request("B", { amountMinor: 500 }));
        await at.clock.advance(20_000);
        await sell(at, "B");
      },
    ],
    [
      "the numbers began again, and ten orders later one has the sale's number",
      async (at, terminal) => {
        for (let n = 0; n < 5; n++) await sell(at, `B-${n}`);
        terminal.closeBooks({ restarts: true });
        for (let n = 5; n < 10; n++) await sell(at, `B-${n}`);
      },
    ],
    [
      "a whole round of numbers",
      async (at, terminal) => {
        await sell(at, "B");
        terminal.nextReceipt = 9_999;
        await sell(at, "C");
        await sell(at, "D");
      },
    ],
    [
      "the numbers fell, and none is the sale's",
      async (at, terminal) => {
        await sell(at, "B");
        await sell(at, "C");
        terminal.nextReceipt = 2;
        await sell(at, "D");
      },
    ],
    [
      "the terminal does not show the order that followed",
      async (at, terminal) => {
        const { last } = terminal;
        await sell(at, "B");
        terminal.store(last);
      },
    ],
    [
      "a card was declined, and the terminal shows the sale without its time",
      async (at, terminal) => {
        await decline(at, terminal);
        const untimed = { ...terminal.bank[0]?.report, localDate: null, localTime: null };
        terminal.store({ kind: "transaction", report: report(untimed) });
      },
    ],
    [
      "a later order is in doubt",
      async (at, terminal) => {
        const { script } = terminal;
        terminal.script = (_order, observer) => {
          observer.report(report({ amountMinor: 500, traceNumber: "000050", localTime: "130030" }));
          observer.ackArrived();
          return Promise.resolve(lost("line broken"));
        };
        void pay(at, request("B", { amountMinor: 500 }));
        await at.clock.advance(400_000);
        terminal.script = script;
        await sell(at, "C");
        expect(phaseOf(at, "B")).toBe("in-doubt");
      },
    ],
    [
      "an unmatched transaction was reported",
      async (at, terminal) => {
        at.start();
        const unmatched = report({ receiptNumber: "0042", traceNumber: "000077" });
        terminal.emit({ type: "unmatched-report", report: unmatched });
        await at.clock.advance(60_000);
        await sell(at, "B");
      },
    ],
    [
      "another terminal, with numbers of its own, was connected in between",
      async (at, terminal) => {
        at.journal.terminalLog.acceptTerminal({ ...identity, serialNumber: "" }, 0);
        terminal.become({ identity: { ...identity, serialNumber: "" } });
        terminal.clear();
        await sell(at, "B");
        terminal.become({ identity });
      },
    ],
  ];

  test.each(between)("no reversal is sent when %s", async (_name, happens) => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    await happens(at, terminal);
    const before = [...terminal.charged];
    await expect(reverse(at, "A")).rejects.toMatchObject(unsafe);
    expect(terminal.reversed).toEqual([]);
    expect(terminal.charged).toEqual(before);
  });

  const harmless: Array<[string, (at: House, terminal: NumberingTerminal) => unknown]> = [
    ["nothing happened", () => undefined],
    [
      "ten orders were paid",
      async (at) => {
        for (let n = 0; n < 10; n++) await sell(at, `B-${n}`);
      },
    ],
    [
      "the numbers went from 9999 to 0001",
      async (at) => {
        for (let n = 0; n < 3; n++) await sell(at, `B-${n}`);
      },
    ],
    [
      "an order was paid and reversed",
      async (at) => {
        await sell(at, "B");
        expect(await reverse(at, "B")).toBe("Reversed");
      },
    ],
    [
      "an older order was reversed",
      async (at) => {
        expect(await reverse(at, "older")).toBe("Reversed");
      },
    ],
    [
      "a card was declined, and the terminal shows the decline",
      async (at, terminal) => {
        await decline(at, terminal, (reported) =>
          terminal.store({ kind: "transaction", report: reported }),
        );
      },
    ],
    [
      "a card was declined, and the terminal shows the sale",
      async (at, terminal) => {
        await decline(at, terminal);
        await sell(at, "C");
      },
    ],
    [
      "a payment did not even begin",
      async (at, terminal) => {
        const { prepare } = terminal;
        terminal.prepare = () => Promise.reject(new Error("broken"));
        await pay(at, request("B")).catch(() => undefined);
        terminal.prepare = prepare;
      },
    ],
  ];

  test.each(harmless)("the sale is reversed when %s", async (_name, happens) => {
    const { at, terminal } = kiosk();
    terminal.nextReceipt = 9_996;
    await sell(at, "older", 100);
    await sell(at, "A", 500);
    await happens(at, terminal);
    expect(await reverse(at, "A")).toBe("Reversed");
    expect(terminal.bank.find(({ amountMinor }) => amountMinor === 500)?.isReversed).toBe(true);
  });

  test("the sale is reversed when another accepted terminal was connected in between", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    const { nextReceipt, last } = terminal;
    const other = { ...identity, serialNumber: "SN-2" };
    at.journal.terminalLog.acceptTerminal(other, 0);
    terminal.become({ identity: other });
    terminal.clear();
    await sell(at, "B");
    at.journal.terminalLog.acceptTerminal(identity, 0);
    terminal.become({ identity });
    terminal.nextReceipt = nextReceipt;
    terminal.store(last);
    expect(terminal.baseline.identity).toEqual(identity);
    await expect(reverse(at, "B")).rejects.toMatchObject({ code: "REVERSAL_REFUSED" });
    await expect(reverse(at, "A")).resolves.toBe("Reversed");
  });

  test("no reversal is sent while the reversal of an older order is in doubt", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "older", 100);
    await sell(at, "A");
    const { reversal } = terminal;
    terminal.reversal = () => Promise.resolve(lost("line broken"));
    await reverse(at, "older");
    await at.clock.advance(400_000);
    terminal.reversal = reversal;
    await sell(at, "B");
    await expect(reverse(at, "A")).rejects.toMatchObject(unsafe);
  });

  test("only the newest order is reversed if the terminal shows no last transaction", async () => {
    const { at, terminal } = kiosk(false);
    terminal.repeatsLast = false;
    await sell(at, "A");
    await sell(at, "B");
    await expect(reverse(at, "A")).rejects.toMatchObject(unsafe);
    expect(await reverse(at, "B")).toBe("Reversed");
    await expect(reverse(at, "A")).rejects.toMatchObject(unsafe);
    expect(terminal.charged).toEqual([500]);
  });

  test("the baseline of a reversal is what prepare has read, with no further probe", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    const { last } = terminal;
    terminal.reversal = () => {
      const state = at.journal.attempts.decisive("A")?.state;
      expect(state).toMatchObject({ phase: "reversing", baseline: { last } });
      return Promise.resolve({ end: "refused", code: "B5", text: "impossible" });
    };
    await expect(reverse(at, "A")).rejects.toMatchObject({ code: "REVERSAL_REFUSED" });
    expect([terminal.probes, terminal.checks, terminal.reversed.length]).toEqual([0, 0, 1]);
  });
});

describe("a sale that was reversed at the terminal's keys (docs/rules/16-fresh.md)", () => {
  const b4 = { code: "B4", text: "already reversed", reason: "already-reversed" } as const;
  const ways: Array<[string, (at: House) => void]> = [
    [
      "as a refusal",
      ({ terminal }) => {
        terminal.reversal = () => Promise.resolve({ end: "refused", ...b4 });
      },
    ],
    [
      "as an abort",
      ({ terminal }) => {
        terminal.reversal = () => Promise.resolve({ end: "aborted", ...b4, ticket: "" });
      },
    ],
    [
      "as a result before the completion",
      ({ terminal }) => {
        terminal.reversal = (_order, observer) => {
          observer.report(declined({ resultCode: "B4", reason: "already-reversed" }));
          return Promise.resolve({ end: "completed", ticket: "" });
        };
      },
    ],
  ];
  test.each(ways)("is Reversed when the terminal says so %s", async (_name, says) => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    says(at);
    expect(await reverse(at, "A")).toBe("Reversed");
    expect(terminal.reversed).toHaveLength(1);
    expect(alarms(at)).toContain("reversed-elsewhere A");
    await expect(pay(at, request("A", { amountMinor: 500 }))).rejects.toMatchObject({
      code: "ORDER_REVERSED",
    });
  });

  test("is Reversed without a command when the terminal shows its reversal", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    await sell(at, "B", 700);
    terminal.reverseAtKeys("0001");
    expect(await reverse(at, "A")).toBe("Reversed");
    expect(terminal.reversed).toEqual([]);
    expect(terminal.charged).toEqual([700]);
    expect(alarms(at)).toContain("reversed-elsewhere A");
  });

  test("is Reversed too when an order was paid since", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    terminal.reverseAtKeys("0001");
    expect(outcome(await pay(at, request("B", { amountMinor: 700 })))).toBe("Failed");
    await at.clock.advance(20_000);
    await sell(at, "B", 700);
    expect(await reverse(at, "A")).toBe("Reversed");
    expect(terminal.reversed).toEqual([]);
  });

  test("is Reversed after a second probe when a payment finds its reversal stored", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    refuseThenReverse(terminal);
    await expect(reverse(at, "A")).rejects.toMatchObject({ code: "REVERSAL_REFUSED" });
    expect(phaseOf(at, "A")).toBe("charged");
    expect(outcome(await pay(at, request("B", { amountMinor: 700 })))).toBe("Failed");
    expect(phaseOf(at, "A")).toBe("charged");
    await at.clock.advance(20_000);
    expect(phaseOf(at, "A")).toBe("reversed");
    expect(alarms(at)).toContain("reversed-elsewhere A");
    await sell(at, "B", 700);
    expect(terminal.charged).toEqual([700]);
  });

  test("stays charged when a reversal that a payment found is gone at the next probe", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    const before = { last: terminal.last, baseline: terminal.baseline };
    terminal.reverseAtKeys("0001");
    expect(outcome(await pay(at, request("B", { amountMinor: 700 })))).toBe("Failed");
    Object.assign(terminal, before);
    await at.clock.advance(20_000);
    expect(phaseOf(at, "A")).toBe("charged");
    await sell(at, "B", 700);
    expect(phaseOf(at, "A")).toBe("charged");
  });

  test("is Reversed when the terminal reports the reversal that it had refused", async () => {
    const { at, terminal } = kiosk();
    at.start();
    await sell(at, "A");
    refuseThenReverse(terminal);
    await expect(reverse(at, "A")).rejects.toMatchObject({ code: "REVERSAL_REFUSED" });
    const { last } = terminal;
    if (last.kind !== "transaction") throw new Error("nothing is stored");
    terminal.emit({ type: "unmatched-report", report: last.report });
    await at.clock.advance(20_000);
    expect(phaseOf(at, "A")).toBe("reversed");
    expect(alarms(at)).toContain("reversed-elsewhere A");
    const reported = at.hub.source.alarms(10).map(({ data }) => data);
    expect(JSON.stringify(reported)).not.toContain('"finding"');
  });

  test("is not taken for another sale of the same amount", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    await sell(at, "B");
    terminal.reverseAtKeys("0002");
    await expect(reverse(at, "A")).rejects.toMatchObject(unsafe);
    expect(await reverse(at, "B")).toBe("Reversed");
    expect(terminal.charged).toEqual([500]);
  });
});

describe("an answer that names another sale than that to reverse (docs/rules/16-fresh.md)", () => {
  const others = [
    ["original", { originalTrace: "000777" }],
    ["card", { maskedPan: "541333XXXXXX9999" }],
    ["amount", { amountMinor: 501 }],
  ] as const;
  test.each(others)("another %s leaves it in doubt and raises an alarm", async (_name, other) => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    terminal.reversal = (order, observer) => {
      const reported = { amountMinor: order.amountMinor, originalTrace: "000001", ...other };
      expect(observer.report(report({ receiptNumber: "0002", ...reported }))).toBe("accept");
      observer.ackArrived();
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(await reverse(at, "A")).toBe("Unknown");
    expect(alarms(at)).toContain("reversal-mismatch A");
  });

  test("another mask of the card or spelling of the trace still reverses the sale", async () => {
    const { at, terminal } = kiosk();
    await sell(at, "A");
    terminal.reversal = (order, observer) => {
      const reported = { amountMinor: order.amountMinor, originalTrace: "1" };
      observer.report(report({ receiptNumber: "0002", ...reported, maskedPan: "XXXX4444" }));
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    expect(await reverse(at, "A")).toBe("Reversed");
  });
});

function alarms(at: House): string[] {
  return at.hub.source
    .alarms(10)
    .flatMap(({ data }) => ("alarm" in data ? [`${data.alarm} ${data.orderId}`] : []));
}
