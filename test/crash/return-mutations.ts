import { type Mutation, oneEdit } from "./mutation.ts";

const guard = "src/tp-manager/supervisor/store-guard.ts";
const arbiter = "src/supervisor/notifications/notification-handler.ts";
const documents = "src/supervisor/operations/notification-store.ts";
const lost = ["test/tp-manager/supervisor/lost-returns.test.ts"];
const keys = ["test/tp-manager/http/gateway-keys.test.ts"];
const listener = ["test/supervisor/notifications/notification-listener.test.ts"];
const noReturn = "while the journal has a gap no return of such an order leaves";
const oneSum = "what the journal knew when the return was reserved, plus this return";
const rows = "src/tp-manager/journal/hand-off-rows.ts";
const countsAgain = "the row counts again, in the same commit";
const withdrawn = ["test/supervisor/intake/withdraw.test.ts"];
const charged = ["test/tp-manager/orders/charged-after-all.test.ts"];

/** A sale that no longer counts is not sent, unless it counts again. */
const ofWithdrawal: readonly Mutation[] = [
  oneEdit(
    "the close of a reversed item at the end of its try",
    ["27-both-sides", "the transaction is not sent again: this last try shows whether"],
    withdrawn,
    [
      "src/supervisor/outbox/item-rows.ts",
      "of [namedIsSent, reversedIsClosed]) {",
      "of [namedIsSent]) {",
    ],
  ),
  oneEdit(
    "the refusal to queue a reversed item again",
    ["27-both-sides", "the transaction is closed in the outbox, where the operator sees it"],
    withdrawn,
    [
      "src/supervisor/outbox/outbox-admin.ts",
      "claimed_at_ms IS NULL AND reversed = 0",
      "claimed_at_ms IS NULL",
    ],
  ),
  oneEdit("the mark of a withdrawn sale that counts again", ["09-handoff", countsAgain], charged, [
    rows,
    "iif(withdrawn > 0, -1, withdrawn)",
    "iif(withdrawn > 0, 0, withdrawn)",
  ]),
  oneEdit(
    "the sale that counts again while its withdrawal is on the way",
    ["09-handoff", countsAgain],
    charged,
    [rows, "WHERE transaction_id = ? AND withdrawn > 0`", "WHERE transaction_id = ?`"],
  ),
];

/** Money that goes back once, also where a database was lost. */
export const returnMutations: readonly Mutation[] = [
  ...ofWithdrawal,
  oneEdit("the check for a lost journal before a reversal", ["34-journal-gap", noReturn], lost, [
    "src/tp-manager/orders/after-sale.ts",
    'this.#parts.guard.assertNotReturned(attempt, "gateway");',
    "",
  ]),
  oneEdit("the check for a lost journal before a refund", ["34-journal-gap", noReturn], lost, [
    "src/tp-manager/supervisor/gateway-operations.ts",
    "this.#parts.guard.assertNotReturned(attempt, returnedBy);",
    "void returnedBy;",
  ]),
  oneEdit(
    "the loss of supervisor.db before a reversal",
    ["34-journal-gap", "from a supervisor.db that lacks nothing"],
    lost,
    [guard, "&& !gap.both && !resync.isUnderWay;", "&& !gap.both;"],
  ),
  oneEdit("the import before a reversal", ["34-journal-gap", "everything is imported"], lost, [
    guard,
    "const isKnown = gap.isImported && ",
    "const isKnown = ",
  ]),
  oneEdit(
    "the rule that a reversal may have been reported to nobody",
    ["34-journal-gap", "because a reversal may have been reported to nobody"],
    lost,
    [guard, 'return returnedBy === "anybody" || !isKnown;', "return !isKnown;"],
  ),
  oneEdit("the order that was imported, before its refund", ["34-journal-gap", noReturn], lost, [
    guard,
    "return request.warnings.includes(IMPORTED) || ",
    "return ",
  ]),
  oneEdit(
    "the notification of a lost order that has to come again",
    ["8.6", "a notification that agrees with no order gets 503 and is not refused"],
    listener,
    [arbiter, "if (!losses.isWhole) return this.#putOff();", ""],
  ),
  oneEdit(
    "the notification that agrees when it comes again",
    ["8.6", "it counts as new"],
    listener,
    [documents, 'if (document.verdict === "accepted") {', 'if (document.operation === "") {'],
  ),
  oneEdit("the returns that supervisor.db has lost", ["35-gateway-returns", oneSum], keys, [
    "src/tp-manager/journal/return-rows.ts",
    "returned_minor = max(returned_minor + ?, ?),",
    "returned_minor = max(returned_minor, ?, ?),",
  ]),
  oneEdit("the lost returns of an order in the archive", ["35-gateway-returns", oneSum], keys, [
    "src/tp-manager/supervisor/gateway-operations.ts",
    "addedMinor > 0 ? known.returnedMinor + addedMinor : 0;",
    "addedMinor > 0 ? addedMinor : 0;",
  ]),
  oneEdit(
    "the other copy of an order whose one copy went back",
    ["35-gateway-returns", "is of an order that the gateway has, or may have, more than once"],
    ["test/tp-manager/http/order-twice-at-gateway.test.ts"],
    [
      "src/supervisor/operations/gateway-history.ts",
      "return known === 1 && !hasOrMayHaveOthers(transactionId, store);",
      "return known > 0 || !hasOrMayHaveOthers(transactionId, store);",
    ],
  ),
  oneEdit(
    "the open outcome of a return whose answer a proxy may have withheld",
    ["35-gateway-returns", "HTTP 3xx, 403 or 5xx without a result code"],
    ["test/supervisor/operations/operation-executor.test.ts"],
    [
      "src/supervisor/gateway/operation-request.ts",
      "ambiguousOnce || mayBeFiltered)",
      "(ambiguousOnce && !mayBeFiltered))",
    ],
  ),
  oneEdit(
    "the one sum of a return that was notified before its end",
    ["35-gateway-returns", oneSum],
    ["test/tp-manager/journal/return-reservation.test.ts"],
    [
      "src/tp-manager/journal/gap-rows.ts",
      "SET notified_return_minor = max(notified_return_minor, ?1),",
      "SET returned_minor = max(returned_minor, ?1),",
    ],
  ),
];
