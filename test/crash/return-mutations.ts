import { type Mutation, oneEdit } from "./mutation.ts";

const guard = "src/tp-manager/supervisor/store-guard.ts";
const desk = "src/supervisor/notifications/notification-desk.ts";
const documents = "src/supervisor/notifications/notification-store.ts";
const lost = ["test/tp-manager/supervisor/lost-returns.test.ts"];
const listener = ["test/supervisor/notifications/notification-listener.test.ts"];
const noReturn = "while the journal is in doubt no return of such an order leaves";

/** Money that goes back once, also where a database was lost. */
export const returnMutations: readonly Mutation[] = [
  oneEdit("the look at a lost journal before a reversal", ["3.17", noReturn], lost, [
    "src/tp-manager/orders/after-sale.ts",
    'this.#parts.guard.assertNotReturned(attempt, "gateway");',
    "",
  ]),
  oneEdit("the look at a lost journal before a refund", ["3.17", noReturn], lost, [
    "src/tp-manager/supervisor/gateway-desk.ts",
    "this.#parts.guard.assertNotReturned(attempt, byWhom);",
    "void byWhom;",
  ]),
  oneEdit(
    "the loss of supervisor.db before a reversal",
    ["3.17", "from a supervisor.db that lacks nothing"],
    lost,
    [guard, "&& !doubt.both && !again.isUnderWay;", "&& !doubt.both;"],
  ),
  oneEdit("the taking over before a reversal", ["3.17", "everything is taken over"], lost, [
    guard,
    "const isTold = doubt.isTakenOver && ",
    "const isTold = ",
  ]),
  oneEdit(
    "the reversal that was told to nobody",
    ["3.17", "because a reversal may have been told to nobody"],
    lost,
    [guard, 'return byWhom === "anybody" || !isTold;', "return !isTold;"],
  ),
  oneEdit("the order that was taken over, before its refund", ["3.17", noReturn], lost, [
    guard,
    "return request.warnings.includes(TAKEN_OVER) || ",
    "return ",
  ]),
  oneEdit(
    "the notification of a lost order that has to come again",
    ["8.6", "it is put off with 503, not refused"],
    listener,
    [desk, "if (!this.#parts.losses.isWhole) return this.#putOff();", ""],
  ),
  oneEdit(
    "the notification that agrees when it comes again",
    ["8.6", "it counts as if it were new"],
    listener,
    [documents, 'if (document.verdict === "accepted") {', 'if (document.operation === "") {'],
  ),
];
