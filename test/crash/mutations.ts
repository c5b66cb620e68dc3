import { byIdMutations } from "./by-id-mutations.ts";
import { clockMutations } from "./clock-mutations.ts";
import { foldMutations } from "./fold-mutations.ts";
import { inquiryMutations } from "./inquiry-mutations.ts";
import { matchingMutations } from "./matching-mutations.ts";
import type { Mutation } from "./mutation.ts";
import { oneWayMutations } from "./one-way-mutations.ts";
import { recordMutations } from "./record-mutations.ts";
import { returnMutations } from "./return-mutations.ts";
import { verdictMutations } from "./verdict-mutations.ts";

const room = "src/tp-manager";
const attempts = "src/tp-manager/journal/attempt-rows.ts";
const tableTests = "test/tp-manager/matching/table.test.ts";

/** What the tests and the chaos run must find: a test that cannot fail proves nothing. */
export const mutations: readonly Mutation[] = [
  {
    removes: "the write-ahead record (kept in memory until the first report)",
    breaks: [
      "1.2",
      "is written to the journal as *sent*, with the baseline, before the first byte",
    ],
    tests: ["test/tp-manager/orders/orders.test.ts"],
    edits: [
      {
        file: attempts,
        from: "return this.#insert({ ...attempt, state: begun, endedAtMs: null }, limitMs);",
        to: `this.held = { ...attempt, state: begun, endedAtMs: null };
    return { ...this.held, number: 1, ticket: "" };`,
      },
      {
        file: attempts,
        from: "  decisive(orderId: string)",
        to: `  held: NewAttempt | undefined;
  decisive(orderId: string)`,
      },
      {
        file: attempts,
        from: "    const known = this.#knownNow();\n    const [attempt, stamp]",
        to: `    if (this.held?.transactionId === transactionId) this.#insert(this.held);
    this.held = undefined;
    const known = this.#knownNow();\n    const [attempt, stamp]`,
      },
    ],
  },
  {
    removes: "the commit before the ACK of 04 0F (done a moment later)",
    breaks: [
      "1.2",
      "The terminal's report of a result is written to the journal before the driver",
    ],
    tests: ["test/tp-manager/orders/orders.test.ts"],
    edits: [
      {
        file: `${room}/arbiter/payment-run.ts`,
        from: 'this.writer.advance({ input: "report",',
        to: 'const late = () => this.writer.advance({ input: "report",',
      },
      {
        file: `${room}/arbiter/payment-run.ts`,
        from: '    if (judgement !== "disagrees") {',
        to: '    queueMicrotask(late);\n    if (judgement !== "disagrees") {',
      },
    ],
  },
  {
    removes: "the one transaction of outcome and hand-off row",
    breaks: ["1.2", "are written in one transaction of the database."],
    tests: ["test/tp-manager/journal/one-commit.test.ts"],
    edits: [
      {
        file: "src/tp-manager/journal/event-rows.ts",
        from: "const result = this.statements.transaction(() =>",
        to: "const result = ((all: () => T) => all())(() =>",
      },
    ],
  },
  {
    removes: "the lookup of the order before a payment (idempotency)",
    breaks: ["36-repeated-order", "The order id is remembered for ever."],
    tests: ["test/tp-manager/orders/orders.test.ts"],
    edits: [
      {
        file: `${room}/orders/admission.ts`,
        from: "  if (known) return known;",
        to: '  if (known && earlier?.state.phase === "reversed") return known;',
      },
    ],
  },
  {
    removes: "the comparison of recovery with the baseline",
    breaks: ["01-baseline", "Recovery compares with the baseline."],
    tests: ["test/tp-manager/arbiter/recovery.test.ts"],
    edits: [
      {
        file: `${room}/matching/facts.ts`,
        from: "    asBefore: asBefore(inquiry, last, known, silenceLeftMs),",
        to: '    asBefore: asBefore(inquiry, last, known, 0) && "different",',
      },
    ],
  },
  {
    removes: "the watch on a storage that was empty before the payment",
    breaks: ["28-unchanged-storage", "An empty storage counts as unchanged only when"],
    tests: ["test/tp-manager/arbiter/empty-storage.test.ts"],
    edits: [
      {
        file: `${room}/matching/facts.ts`,
        from: "gapMs >= 0 && gapMs <= EMPTY_GAP_MS;",
        to: "gapMs >= 0 || gapMs <= EMPTY_GAP_MS;",
      },
    ],
  },
  {
    removes: "the wait for the lost payment's own time limit",
    breaks: ["02-proof", "the lost payment's own time limit is over"],
    tests: ["test/explore/explore.test.ts", "test/tp-manager/arbiter/recovery.test.ts"],
    edits: [
      {
        file: `${room}/matching/table.ts`,
        from: 'asBefore === "same" && silenceLeftMs > 0,',
        to: 'asBefore === "same" && silenceLeftMs > Number.MAX_SAFE_INTEGER,',
      },
    ],
  },
  {
    removes: "the second matching read of a charge without ACK",
    breaks: ["32-probe-times", "when it was seen twice, with the terminal idle between the two"],
    tests: ["test/tp-manager/arbiter/recovery.test.ts"],
    edits: [
      {
        file: `${room}/matching/table.ts`,
        from: `    holds: (facts) => facts.confirmed || isProven(facts),
    because: "the terminal has stored a new`,
        to: `    holds: (facts) => facts.confirmed || facts.kind === "transaction",
    because: "the terminal has stored a new`,
      },
    ],
  },
  {
    removes: "docs/rules/05-evidence.md: no sale before the one in doubt was asked about",
    breaks: [
      "05-evidence",
      "no sale, reversal, end of day or reset begins before one complete recovery run has ended",
    ],
    tests: ["test/tp-manager/arbiter/evidence-first.test.ts"],
    edits: [
      {
        file: `${room}/arbiter/terminal-lease.ts`,
        from: "    if (reason) throw refusalBy(reason);",
        to: "    if (reason && this.#inquiries.blockedBy === undefined) throw refusalBy(reason);",
      },
    ],
  },
  {
    removes: "the check that a found sale is not that of a later order",
    breaks: ["02-proof", "or can be that of a later command"],
    tests: ["test/tp-manager/matching/table-columns.test.ts"],
    edits: [
      {
        file: `${room}/matching/facts.ts`,
        from: "    mayBeLater: found !== null && mayBeLater(inquiry, found, known),",
        to: "    mayBeLater: found?.amountMinor === -1 && mayBeLater(inquiry, found, known),",
      },
    ],
  },
  {
    removes: "the supervisor's storing before a hand-off counts as done",
    breaks: [
      "1.2",
      "first try to reach the gateway, and answers tp-manager that the hand-off is accepted.",
    ],
    tests: ["test/tp-manager/orders/orders.test.ts"],
    edits: [
      {
        file: `${room}/supervisor/hand-off.ts`,
        from: "        : this.#storeThere(row, isFirst));",
        to: `        : (this.#store.noteAccepted(transactionId, "pending", this.#clock.now()),
          this.#storeThere(row, isFirst)));`,
      },
    ],
  },
  {
    removes: "the truth about an order while another one is paid",
    breaks: ["10-charged", "An earlier attempt of the order is read before any other refusal"],
    tests: ["test/tp-manager/orders/orders.test.ts"],
    edits: [
      {
        file: `${room}/orders/admission.ts`,
        from: "  const earlier = storage(",
        to: "  arbiter.lease.assertFree();\n  const earlier = storage(",
      },
    ],
  },
  {
    removes: "the last check of the order before its write-ahead record",
    breaks: [
      "36-repeated-order",
      "The order is checked once more in the moment of the write-ahead record",
    ],
    tests: ["test/tp-manager/orders/settlement.test.ts"],
    edits: [
      {
        file: `${room}/orders/orders.ts`,
        from: "        assertStillOpen(request.orderId, journal.attempts);",
        to: "        void assertStillOpen;",
      },
    ],
  },
  {
    removes: "the honest answer about an order while the terminal is prepared for it",
    breaks: ["10-charged", "an order for which the terminal is being prepared"],
    tests: ["test/tp-manager/http/charged-of-order.test.ts"],
    edits: [
      {
        file: `${room}/orders/orders.ts`,
        from: "    if (this.#runningOf(orderId)) return new AppError(",
        to: "    if (this.#runningOf(orderId) && !orderId) return new AppError(",
      },
    ],
  },
  {
    removes: "the second hand-off of a sale that was withdrawn and is charged after all",
    breaks: ["09-handoff", "the row counts again, in the same commit"],
    tests: ["test/tp-manager/orders/charged-after-all.test.ts"],
    edits: [
      {
        file: `${room}/journal/hand-off-rows.ts`,
        from: "      withdrawn = iif(withdrawn > 0, -1, withdrawn),\n",
        to: "",
      },
    ],
  },
  {
    removes: "the end of a payment that was cancelled while the terminal was made ready",
    breaks: ["5.5", "`/cancel` is only a request: the payment's own answer decides."],
    tests: ["test/tp-manager/orders/orders.test.ts"],
    edits: [
      {
        file: `${room}/arbiter/financial-commands.ts`,
        from: "      held.preparing.abort(new CancelledInTime());",
        to: "      void CancelledInTime;",
      },
    ],
  },
  {
    removes: "the second look at a sale that no order asked for",
    breaks: ["04-approval", "A single probe never calls it `gone`"],
    tests: ["test/tp-manager/arbiter/unmatched.test.ts"],
    edits: [
      {
        file: `${room}/matching/table.ts`,
        from: '    holds: ({ asReported, confirmed }) => asReported === "same" && confirmed,',
        to: '    holds: ({ asReported }) => asReported === "same",',
      },
    ],
  },
  {
    removes: "date and time in the comparison of two transactions",
    breaks: ["matching", "| hours or days apart | else | | different: numbers come again |"],
    tests: ["test/tp-manager/attempts/comparison.test.ts"],
    edits: [
      {
        file: `${room}/attempts/comparison.ts`,
        from: 'return content && agreeInBoth(a, b) ? "unsure" : "different";',
        to: 'return content ? "same" : "different";',
      },
    ],
  },
  {
    removes: "the amount and the original trace in the proof of a reversal",
    breaks: ["07-returns", "by the stored reversal of this trace and amount"],
    tests: [tableTests, "test/tp-manager/matching/table-columns.test.ts"],
    edits: [
      {
        file: `${room}/matching/facts.ts`,
        from: "    return sale && givesBack(sale, found) ?",
        to: "    return sale && (givesBack(sale, found) || found.good) ?",
      },
    ],
  },
  {
    removes: "the amount in the proof that a reported sale went back",
    breaks: ["02-proof", "it is of exactly the reported trace and amount: the money went back"],
    tests: [tableTests, "test/tp-manager/matching/table-columns.test.ts"],
    edits: [
      {
        file: `${room}/matching/facts.ts`,
        from: "    return whole || found.amountMinor === heard.good?.amountMinor ?",
        to: "    return whole || found.amountMinor !== null ?",
      },
    ],
  },
  {
    removes: "the gate's memory of the accepted serial number",
    breaks: ["12-terminal", "what it once reported is never forgotten"],
    tests: ["test/tp-manager/arbiter/terminal-identity.test.ts"],
    edits: [
      {
        file: `${room}/arbiter/terminal-identity.ts`,
        from: "serialNumber: accepted.serialNumber || found.serialNumber,",
        to: "serialNumber: found.serialNumber,",
      },
    ],
  },
  {
    removes: "the check for returns while the lease is held, and the journal's own guard",
    breaks: ["07-returns", "the command that holds it keeps the others out"],
    tests: ["test/tp-manager/journal/return-reservation.test.ts"],
    edits: [
      {
        file: `${room}/orders/after-sale.ts`,
        from: `    this.#assertReversible(attempt);
    const { startedAtMs`,
        to: "    const { startedAtMs",
      },
      {
        file: attempts,
        from: "OR (open_return IS NULL AND",
        to: "OR (open_return IS open_return OR",
      },
    ],
  },
  {
    removes: "the phase in the reservation of a return",
    breaks: ["07-returns", "share one reservation for each order"],
    tests: ["test/tp-manager/journal/return-reservation.test.ts"],
    edits: [
      {
        file: `${room}/journal/return-rows.ts`,
        from: `AND \${phaseIn(({ gateway }) => gateway === "begin")}`,
        to: "",
      },
    ],
  },
  {
    removes: "the reservation of a return whose answer was lost",
    breaks: ["35-gateway-returns", "it is never sent again: a verified notification"],
    tests: ["test/tp-manager/http/gateway-routes.test.ts"],
    edits: [
      {
        file: `${room}/supervisor/gateway-operations.ts`,
        from: '    if (state === "unknown" || state === "sending") return;',
        to: '    if (state === "sending") return;',
      },
    ],
  },
  {
    removes: "the memory of a caller's key",
    breaks: ["26-return-keys", "it gets the answer of the operation that it asked for first"],
    tests: ["test/tp-manager/http/gateway-keys.test.ts"],
    edits: [
      {
        file: `${room}/supervisor/gateway-operations.ts`,
        from: "return before ?? (await begin());",
        to: "return (before && undefined) ?? (await begin());",
      },
    ],
  },
  {
    removes: "the check for the loss of a key",
    breaks: ["26-return-keys", "is unknown, 504, and nothing is sent"],
    tests: ["test/tp-manager/http/gateway-keys.test.ts"],
    edits: [
      {
        file: `${room}/supervisor/gateway-operations.ts`,
        from: "if (!mayBeLost || this.#neverAsked(",
        to: "if (true || !mayBeLost || this.#neverAsked(",
      },
    ],
  },
  {
    removes: "the refusal of a repeated part",
    breaks: ["26-return-keys", "done or unknown, gets 409 `REFUND_REPEATED`"],
    tests: ["test/tp-manager/http/gateway-keys.test.ts"],
    edits: [
      {
        file: "src/supervisor/operations/asked-before.ts",
        from: "|| !request.unlessRepeated) return undefined;",
        to: "|| !request.unlessRepeated || request) return undefined;",
      },
    ],
  },
  {
    removes: "the return under way in a lost supervisor.db",
    breaks: ["26-return-keys", "a return that was under way | is open from then on"],
    tests: ["test/tp-manager/http/gateway-keys.test.ts"],
    edits: [
      {
        file: "src/supervisor/operations/operation-executor.ts",
        from: "if (!losses.mayLack(owner?.transactionId)) return { operation: null };",
        to: "if (losses) return { operation: null };",
      },
    ],
  },
  {
    removes: "the rule that sums prove nothing after a loss",
    breaks: ["26-return-keys", "nothing of it is proved by sums"],
    tests: ["test/tp-manager/http/gateway-keys.test.ts"],
    edits: [
      {
        file: "src/supervisor/operations/gateway-history.ts",
        from: "if (open.class === LOST) return amountMinor;",
        to: "if (open.class === LOST && false) return amountMinor;",
      },
    ],
  },
  {
    removes: "the archive's look at an open return",
    breaks: ["07-returns", "The reservation is on disk before anything is sent,"],
    tests: ["test/tp-manager/journal/return-reservation.test.ts"],
    edits: [
      {
        file: `${room}/journal/archive.ts`,
        from: "    AND open_return IS NULL\n",
        to: "",
      },
    ],
  },
  {
    removes: "the writing of an answer before it counts as read",
    breaks: [
      "11-unread",
      "when the answer of a charged or unknown order with a generated id could not be written",
    ],
    tests: ["test/tp-manager/http/answer-read.test.ts"],
    edits: [
      {
        file: `${room}/http/calls/payment-calls.ts`,
        from: '  raw.once("finish", () => {\n    try {',
        to: "  queueMicrotask(() => {\n    void raw;\n    try {",
      },
    ],
  },
  {
    removes: "the mark of a charge after an answer that the payment runs",
    breaks: ["11-unread", "this is no answer about the outcome: a charge counts as unread"],
    tests: ["test/tp-manager/http/respond-async.test.ts"],
    edits: [
      {
        file: `${room}/orders/orders.ts`,
        from: "    if (isAsync) journal.attempts.unanswered = running.transactionId;",
        to: "",
      },
    ],
  },
  {
    removes: "the silence about the outcome in an answer that reports none",
    breaks: ["11-unread", "reports no outcome, so the order does not count as read"],
    tests: ["test/tp-manager/http/respond-async.test.ts"],
    edits: [
      {
        file: `${room}/http/calls/payment-calls.ts`,
        from: "generatedId && !isOpen(answer) && request.role",
        to: "generatedId && request.role",
      },
    ],
  },
  {
    removes: "the answer at once to an order in doubt, which is not paid later",
    breaks: ["36-repeated-order", "and this request pays nothing later"],
    tests: ["test/tp-manager/http/respond-async.test.ts"],
    edits: [
      {
        file: `${room}/orders/orders.ts`,
        from: "    if (isAsync) return this.result(attempt, true, 0);",
        to: '    if (isAsync && way === "answer") return this.result(attempt, true, 0);',
      },
    ],
  },
  {
    removes: "the goods window in the limit of a recovery",
    breaks: ["32-probe-times", "plus the window for goods"],
    tests: ["test/tp-manager/matching/inquiry.test.ts"],
    edits: [
      {
        file: `${room}/matching/facts.ts`,
        from: "return limitMs + (goodsWindowSeconds(request) ?? 0) * 1_000;",
        to: "return limitMs + 0 * (goodsWindowSeconds(request) ?? 0);",
      },
    ],
  },
  ...oneWayMutations,
  ...recordMutations,
  ...matchingMutations,
  ...verdictMutations,
  ...byIdMutations,
  ...clockMutations,
  ...inquiryMutations,
  ...foldMutations,
  ...returnMutations,
];
