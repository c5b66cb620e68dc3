import type {
  PaymentEnd,
  TelecollectionEnd,
  UnavailableReason,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { TerminalUnavailable } from "../../../src/tp-manager/terminal/terminal.ts";
import { type House, pay, request } from "../../support/house/payment-house.ts";
import { baseline, identity, report } from "../../support/terminals/reports.ts";
import {
  approves,
  disconnected,
  lost,
  type PayScript,
} from "../../support/terminals/scripted-terminal.ts";

type Prepare = (at: House) => unknown;
/** What the answer says (`error.code`, else `status`, else "none"), and how it is produced. */
export type Situation = readonly [says: string, prepare: Prepare, body?: object];

const nothing: Prepare = () => undefined;
const after =
  (...steps: readonly Prepare[]): Prepare =>
  async (at) => {
    for (const step of steps) await step(at);
  };
const script =
  (how: PayScript): Prepare =>
  (at) => {
    at.terminal.script = how;
  };
const aborts = (
  reason: "declined" | "cancelled" | "customer-timeout" | "terminal-fault" | "wrong-currency",
): PaymentEnd => ({ end: "aborted", code: "6C", text: "aborted", reason, ticket: "" });
const ends = (end: PaymentEnd): Prepare => script(() => Promise.resolve(end));
const endless = script(() => new Promise(() => {}));
const unavailable =
  (reason: UnavailableReason): Prepare =>
  (at) => {
    at.terminal.unavailable = new TerminalUnavailable(reason, reason);
  };
const without =
  (member: "reverse" | "reset" | "telecollect" | "cancel" | "decideGoods"): Prepare =>
  (at) =>
    Object.assign(at.terminal, { [member]: undefined });
const incapable =
  (capability: "vending" | "partialIssue"): Prepare =>
  (at) =>
    Object.assign(at.terminal.capabilities, { [capability]: false });
const telecollects =
  (end: TelecollectionEnd): Prepare =>
  (at) => {
    at.terminal.telecollection = end;
  };

const paid: Prepare = (at) => pay(at, request("A-1"));
/** As `paid`, and the terminal shows the sale as its last transaction. */
const stored: Prepare = after(paid, (at) => at.terminal.stores(report()));
const updating: Prepare = (at) => Object.defineProperty(at.probation, "isOn", { value: true });
const stopping: Prepare = (at) => at.arbiter.lease.close();
const broken: Prepare = (at) => at.close();
/** An unmatched transaction. */
const strange: Prepare = (at) => {
  at.start();
  at.terminal.emit({ type: "unmatched-report", report: report() });
};
const reversed: Prepare = after(stored, (at) => at.afterSale.reverse("A-1"));
const declined = after(ends(aborts("declined")), paid);
/** The terminal reports a sale after the end of a cancelled order, and the probe still runs. */
const lateSale: Prepare = (at) => {
  at.start();
  at.terminal.lastTransaction = () => new Promise(() => {});
  at.terminal.emit({ type: "unmatched-report", report: report() });
};
const soldLate: Prepare = after(ends(aborts("cancelled")), paid, lateSale);
const nameless: Prepare = (at) => pay(at, request("g-1", { generatedId: true }));

/** An order whose payment does not end. */
const running =
  (orderId: string): Prepare =>
  async (at) => {
    await endless(at);
    void pay(at, request(orderId)).catch(() => undefined);
    await at.clock.advance(0);
  };
const busy = running("B-1");

/** An order in doubt, and a terminal that is disconnected. */
const leftInDoubt: Prepare = async (at) => {
  at.terminal.script = () => {
    at.terminal.unavailable = disconnected();
    return Promise.resolve(lost("line broken"));
  };
  await pay(at, request("B-1"));
};

/** A payment whose outcome is lost, at a terminal whose probes prove nothing. */
const unheard: Prepare = (at) => {
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  at.terminal.script = () => Promise.resolve(lost("line broken"));
};
const unknown = after(
  unheard,
  (at) => pay(at, request("A-1")),
  (at) => {
    at.terminal.script = approves;
  },
);
const settled =
  (outcome: "charged" | "not_charged" | "reversed"): Prepare =>
  (at) =>
    at.settle({ orderId: "A-1", outcome, note: "seen on the terminal's receipt" });

/** A two-phase sale that waits at its approval and ends as the decision says. */
const holding: Prepare = (at) => {
  at.terminal.script = (_order, observer) =>
    new Promise((resolve) => {
      observer.report(report());
      at.terminal.onDecision = ({ goods }) => {
        if (goods === "not-issued") return resolve(aborts("cancelled"));
        observer.ackArrived();
        resolve({ end: "completed", ticket: "" });
      };
    });
};
const approved = after(holding, (at) =>
  pay(at, request("A-1", { delivery: { withinSeconds: 30 } })),
);

/** A two-phase sale that waits at its approval, with the end that follows the decision. */
const approvedThen = (end: PaymentEnd): Prepare =>
  after(
    (at) => {
      at.terminal.last = { kind: "not-told", why: "bare completion" };
      at.terminal.script = (_order, observer) =>
        new Promise((resolve) => {
          observer.report(report());
          at.terminal.onDecision = () => resolve(end);
        });
    },
    (at) => pay(at, request("A-1", { delivery: { withinSeconds: 30 } })),
  );

/** An approved sale about whose goods the kiosk reported nothing in time. */
const unconfirmed = after(approved, (at) => at.clock.advance(30_000));
/** The line was lost when no goods had come out, and the terminal has reversed the sale. */
const takenBack = after(
  approvedThen({ end: "lost", code: "no-end", text: "line broken", ticket: "" }),
  (at) => {
    const reversal = report({ traceNumber: "000099", originalTrace: "000012" });
    at.terminal.last = { kind: "transaction", report: reversal };
  },
  (at) => at.afterSale.deliver("A-1", false, undefined),
);

const reversalEnds =
  (end: PaymentEnd): Prepare =>
  (at) => {
    at.terminal.reversal = () => Promise.resolve(end);
  };
const reversalUnknown: Prepare = after(stored, reversalEnds(lost("line broken")), async (at) => {
  at.terminal.last = { kind: "not-told", why: "bare completion" };
  await at.afterSale.reverse("A-1");
});

const replaced: Prepare = (at) => {
  const other = { ...identity, serialNumber: "SN-2" };
  at.terminal.baseline = { ...baseline, identity: other };
  at.terminal.state = { ...at.terminal.state, identity: other };
};

/** The terminal is being prepared for the order's first attempt. */
const preparing: Prepare = (at) => {
  at.terminal.prepare = () => new Promise(() => {});
  void pay(at, request("A-1")).catch(() => undefined);
};

const noted = { kind: "unmatched", items: ["1"], note: "given back" };
const order = { orderId: "A-1" };
const card = { orderId: "4111111111111111" };
const sale = { amount: 9.99, ...order };
const twoPhase = { ...sale, delivery: { withinSeconds: 30 } };
const note = { note: "seen on the terminal's receipt" };

/** Situations in which no command to the terminal can begin. */
const terminal: readonly Situation[] = [
  ["TERMINAL_BUSY", busy],
  ["TERMINAL_DISCONNECTED", unavailable("disconnected")],
  ["TERMINAL_NO_ANSWER", unavailable("no-answer")],
  ["TERMINAL_OUT_OF_ORDER", unavailable("out-of-order")],
  ["TERMINAL_IN_DOUBT", leftInDoubt],
  ["STOPPING", stopping],
];
const given = (body: object, first: Prepare, list: readonly Situation[]): Situation[] =>
  list.map(([says, prepare]) => [says, after(first, prepare), body]);

const twoPhasePaid: Prepare = (at) => pay(at, request("A-1", { delivery: { withinSeconds: 30 } }));
const failed = (says: string, prepare: Prepare): Situation => [
  says,
  after(prepare, twoPhasePaid),
  { ...order, delivered: false },
];
/** Two-phase sales that failed, of which the kiosk reports that no goods came out. */
const notDelivered: readonly Situation[] = [
  failed("TERMINAL_BUSY", unavailable("busy")),
  failed("TERMINAL_DISCONNECTED", unavailable("disconnected")),
  failed("TERMINAL_NO_ANSWER", unavailable("no-answer")),
  failed("TERMINAL_OUT_OF_ORDER", unavailable("out-of-order")),
  failed(
    "TERMINAL_CHANGED",
    after((at) => pay(at, request("B-1")), replaced),
  ),
  failed("STOPPING", unavailable("closed")),
  failed("TERMINAL_REFUSED", ends({ end: "refused", code: "83", text: "not possible" })),
  failed("TERMINAL_FAULT", ends(aborts("terminal-fault"))),
  failed("CURRENCY_REFUSED", ends(aborts("wrong-currency"))),
  failed("PAYMENT_DECLINED", ends(aborts("declined"))),
  failed("PAYMENT_CANCELLED", ends(aborts("cancelled"))),
  failed("CUSTOMER_TIMEOUT", ends(aborts("customer-timeout"))),
  [
    "SETTLED_NOT_CHARGED",
    after(unheard, twoPhasePaid, settled("not_charged")),
    { ...order, delivered: false },
  ],
];

/** Every call with what it can answer; gateway and outbox have tests of their own. */
export const situations: Readonly<Record<string, readonly Situation[]>> = {
  "POST /payment": [
    ["Success", nothing, sale],
    ["Approved", holding, twoPhase],
    ["UPDATING", updating, sale],
    ["NOT_SUPPORTED", incapable("vending"), twoPhase],
    ...given(sale, nothing, terminal),
    ["TERMINAL_CHANGED", after(paid, replaced), { ...sale, orderId: "A-2" }],
    ["PAYMENT_DECLINED", ends(aborts("declined")), sale],
    ["PAYMENT_CANCELLED", ends(aborts("cancelled")), sale],
    ["CUSTOMER_TIMEOUT", ends(aborts("customer-timeout")), sale],
    ["TERMINAL_FAULT", ends(aborts("terminal-fault")), sale],
    [
      "CURRENCY_REFUSED",
      ends({ end: "refused", code: "6F", text: "wrong currency", reason: "wrong-currency" }),
      sale,
    ],
    ["TERMINAL_REFUSED", ends({ end: "refused", code: "83", text: "not possible" }), sale],
    ["PAYMENT_RUNNING", endless, sale],
    ["PAYMENT_UNKNOWN", unknown, sale],
    ["ORDER_REVERSED", reversed, sale],
    ["ORDER_MISMATCH", paid, { ...sale, amount: 1 }],
    ["ANSWER_NOT_DELIVERED", nameless, { amount: 9.99 }],
    ["CARD_DATA_REFUSED", nothing, { ...sale, ...card }],
    ["STORAGE_FAILED", broken, sale],
  ],
  "GET /payment/A-1": [
    ["Success", paid],
    ["Reversed", reversed],
    ["Approved", approved],
    ["PAYMENT_DECLINED", declined],
    ["DELIVERY_UNCONFIRMED", unconfirmed],
    ["PAYMENT_UNKNOWN", unknown],
    ["PAYMENT_RUNNING", running("A-1")],
    ["PAYMENT_RUNNING", preparing],
    ["SETTLED_NOT_CHARGED", after(unknown, settled("not_charged"))],
    ["TERMINAL_IN_DOUBT", soldLate],
    ["ORDER_NOT_FOUND", nothing],
    ["STORAGE_FAILED", broken],
  ],
  "POST /payment/A-1/settle": [
    ["Success", unknown, { outcome: "charged", ...note }],
    ["Reversed", reversalUnknown, { outcome: "reversed", ...note }],
    ["SETTLED_NOT_CHARGED", unknown, { outcome: "not_charged", ...note }],
    [
      "DELIVERY_UNCONFIRMED",
      after(approvedThen(lost("line broken")), (at) =>
        at.afterSale.deliver("A-1", true, undefined),
      ),
      { outcome: "not_charged", ...note },
    ],
    ["ORDER_NOT_FOUND", nothing, { outcome: "charged", ...note }],
    ["PAYMENT_RUNNING", preparing, { outcome: "charged", ...note }],
    ["NOTHING_TO_SETTLE", paid, { outcome: "charged", ...note }],
    ["CARD_DATA_REFUSED", unknown, { outcome: "charged", note: card.orderId }],
    ["REQUEST_INVALID", unknown, { outcome: "perhaps", ...note }],
  ],
  "GET /payments": [
    ["Success", paid],
    ["PAYMENT_DECLINED", declined],
    ["none", nothing],
    ["STORAGE_FAILED", broken],
  ],
  "GET /payments/search": [
    ["none", paid],
    ["STORAGE_FAILED", broken],
  ],
  "GET /story/A-1": [
    ["Success", paid],
    ["Reversed", reversed],
    ["PAYMENT_DECLINED", declined],
    ["PAYMENT_RUNNING", preparing],
    ["TERMINAL_IN_DOUBT", soldLate],
    ["ORDER_NOT_FOUND", nothing],
    ["STORAGE_FAILED", broken],
  ],
  "GET /day": [
    ["none", after(paid, (at) => at.upkeep.telecollect())],
    ["STORAGE_FAILED", broken],
  ],
  "GET /acts": [
    ["none", nothing],
    ["STORAGE_FAILED", broken],
  ],
  "GET /unmatched-transactions": [
    ["none", strange],
    ["STORAGE_FAILED", broken],
  ],
  "GET /reconciliation": [
    ["none", after(paid, (at) => at.upkeep.telecollect())],
    ["STORAGE_FAILED", broken],
  ],
  "POST /seen": [
    ["Success", nothing, noted],
    ["CARD_DATA_REFUSED", nothing, { ...noted, note: "4111111111111111" }],
    ["STORAGE_FAILED", broken, noted],
  ],
  "POST /cancel": [
    ["Success", busy],
    ["NOTHING_TO_CANCEL", nothing],
    [
      "CANCEL_REFUSED",
      after(busy, (at) => {
        at.terminal.cancelAnswer = { answer: "refused", code: "83", text: "not possible" };
      }),
    ],
    ["NOT_SUPPORTED", after(busy, without("cancel"))],
  ],
  "GET /cancel": [["Success", busy]],
  "POST /delivery": [
    ["Success", approved, { ...order, delivered: true }],
    ["GOODS_NOT_DELIVERED", approved, { ...order, delivered: false }],
    ["ORDER_NOT_FOUND", nothing, { ...order, delivered: true }],
    ["PAYMENT_RUNNING", preparing, { ...order, delivered: true }],
    ["DELIVERY_DECIDED", paid, { ...order, delivered: false }],
    ["DELIVERY_DECIDED", unconfirmed, { ...order, delivered: true }],
    ["GOODS_NOT_DELIVERED", unconfirmed, { ...order, delivered: false }],
    [
      "DELIVERY_UNCONFIRMED",
      after(unconfirmed, (at) => at.journal.archive.putAway(at.clock.now() + 1, 100)),
      { ...order, delivered: false },
    ],
    ["SALE_TAKEN_BACK", takenBack, { ...order, delivered: false }],
    ["NOT_SUPPORTED", after(paid, without("decideGoods")), { ...order, delivered: true }],
    ["PAYMENT_UNKNOWN", approvedThen(lost("line broken")), { ...order, delivered: true }],
    ...notDelivered,
    [
      "TERMINAL_IN_DOUBT",
      after(ends(aborts("cancelled")), twoPhasePaid, lateSale),
      { ...order, delivered: false },
    ],
    [
      "NOT_SUPPORTED",
      after(approved, incapable("partialIssue")),
      { ...order, delivered: true, amount: 5 },
    ],
    ["CARD_DATA_REFUSED", nothing, { ...card, delivered: true }],
    ["REQUEST_INVALID", approved, { ...order, delivered: true, amount: 10 }],
  ],
  "POST /reversal": [
    ["Reversed", stored, order],
    ["REVERSAL_NOT_SAFE", paid, order],
    ...given(order, stored, terminal),
    ["ORDER_NOT_FOUND", nothing, order],
    ["ORDER_NOT_CHARGED", declined, order],
    ["REVERSAL_REFUSED", after(stored, reversalEnds(aborts("terminal-fault"))), order],
    ["NOT_SUPPORTED", after(paid, without("reverse")), order],
    ["TERMINAL_CHANGED", after(paid, replaced), order],
    ["PAYMENT_UNKNOWN", reversalUnknown, order],
    ["PAYMENT_RUNNING", running("A-1"), order],
    ["CARD_DATA_REFUSED", nothing, card],
  ],
  "GET /reset": [["Success", nothing]],
  "POST /reset": [
    ["Success", nothing],
    ["TERMINAL_BUSY", busy],
    ["TERMINAL_IN_DOUBT", leftInDoubt],
    ["STOPPING", stopping],
    ["RESET_FAILED", unavailable("disconnected")],
    ["NOT_SUPPORTED", without("reset")],
  ],
  "GET /tlc": [["none", nothing]],
  "POST /tlc": [
    ["none", nothing],
    ...terminal.filter(([says]) => says !== "TERMINAL_OUT_OF_ORDER"),
    ["TERMINAL_CHANGED", after(paid, replaced)],
    ["TELECOLLECTION_FAILED", telecollects({ end: "failed", code: "6C", text: "no line" })],
    [
      "OPEN_PRE_AUTHORISATIONS",
      telecollects({ end: "open-pre-authorisations", receiptNumbers: ["0007"] }),
    ],
    ["NOT_SUPPORTED", without("telecollect")],
  ],
  "POST /terminal/accept": [
    ["Success", nothing],
    [
      "TERMINAL_DISCONNECTED",
      (at) => at.terminal.become({ link: "disconnected", linkProblem: "unplugged" }),
    ],
  ],
  "GET /stop": [["Success", busy]],
  "POST /stop": [["Success", nothing]],
  "GET /version": [["none", nothing]],
  "GET /config": [["none", nothing]],
  "GET /settings": [["none", nothing]],
  "GET /logs?program=supervisor": [["none", nothing]],
  "POST /update/check": [["NOT_SUPPORTED", nothing]],
  "POST /update/hold": [
    ["NOT_SUPPORTED", nothing],
    ["CARD_DATA_REFUSED", nothing, { by: card.orderId }],
  ],
  "POST /update/unhold": [["NOT_SUPPORTED", nothing]],
  "GET /check": [
    ["none", nothing],
    ["none", busy],
    ["none", unavailable("no-answer")],
  ],
  "GET /health": [
    ["Ready", nothing],
    ["NotReady", leftInDoubt],
    ["NotReady", broken],
  ],
  "GET /openapi.json": [["none", nothing]],
};
