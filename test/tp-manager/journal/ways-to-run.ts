import type { SQLInputValue } from "node:sqlite";
import { paymentStatuses } from "../../../src/tp-manager/attempts/phase-table.ts";
import { idOf } from "./full-journal.ts";

/** The values of a statement for a {@link fullJournal} of `n` rows, in each way that may matter. */
type Ways = (n: number) => readonly Values[];
export type Values = readonly SQLInputValue[];

const one =
  (...values: Values): Ways =>
  () => [values];
/** Each of `given` alone, and something that matches nothing. */
const each =
  (given: (n: number) => Values, ...others: Values): Ways =>
  (n) =>
    [...given(n), "nowhere"].map((value) => [value, ...others]);

const order = idOf(2);
const firstFailed = idOf(1, "f");
const ofAttempt = each((n) => [order, idOf(n / 2)]);
const ofArchived = each(() => [idOf(1, "a")]);
const noBound = Number.MAX_SAFE_INTEGER;
/** From the newest, from the middle, and with a begin that lies in the future. */
const page: Ways = (n) => [
  [noBound, noBound, 0, 50],
  [n / 2, n / 2, 0, 50],
  [noBound, noBound, 2 * n, 50],
];
const pages = (part: string): Record<string, Ways> =>
  Object.fromEntries(["all", ...paymentStatuses].map((status) => [`${part} ${status}`, page]));

const marks: Ways = (n) => [
  [String(n / 2), 0],
  ["0", 0],
];
const acknowledged: Record<string, Ways> = {
  "acknowledged unmatched": marks,
  "acknowledged difference": marks,
  "acknowledged alarm": (n) => [[String(n / 2)], ["0"]],
  "acknowledged charge": each(() => [firstFailed, order]),
  "acknowledged return": each((n) => [order, idOf(n / 2)]),
  "acknowledged keep": one("stray", "3", 0, "given back"),
  "acknowledged at": (n) => [["stray", String(n / 2)]],
  "acknowledged newest": one("stray"),
  "acknowledged countUnmatched": one(),
  "acknowledged countDifferences": one(),
  "acknowledged allUnmatched": one(20),
  "acknowledged differences": one(20),
};

const auditEntries: Record<string, Ways> = {
  "auditEntries begin": one(0, "operator", "Anna", "it hangs", "POST /reset", null),
  "auditEntries end": (n) => [[409, "NOTHING_TO_SETTLE", n / 2]],
  "auditEntries list": (n) => [
    [noBound, 50],
    [n / 2, 50],
  ],
};

const sharing: Ways = (n) => [
  [n / 2, String(n / 2).padStart(6, "0"), "0101", n / 2, "sim.S1"],
  [0, "999999", "0101", 0, null],
];

const records: Record<string, Ways> = {
  "records sharingName": sharing,
  "records sharingNumber": sharing,
  "records sharingTrace": (n) => [[n / 2], [0]],
  "records newest": (n) => [
    [noBound, 50],
    [n / 2, 50],
  ],
  "records closedSince": (n) => [[0], [2 * n]],
  "records sentBefore": (n) => [
    [noBound, 50],
    [n / 4, 50],
    [n / 2, 20],
    [3, 20],
  ],
};

const attempts: Record<string, Ways> = {
  "attempts latest": ofAttempt,
  "attempts ofOrder": ofAttempt,
  "attempts read": ofAttempt,
  "attempts orderOf": ofAttempt,
  "attempts events": ofAttempt,
  "attempts addEvent": one(order, 0, "test", "{}", null),
  "attempts insert": one("new", order, 999, "EUR", 0, "sent", "{}", "{}", "{}", 0, null),
  "attempts update": (n) =>
    [idOf(n / 2), "nowhere"].map((id) => [
      "charged",
      "{}",
      null,
      0,
      "0001",
      "000001",
      null,
      id,
      "sent",
    ]),
  "attempts updateInPhase": (n) => [idOf(n / 2), "nowhere"].map((id) => ["{}", null, id, "sent"]),
  "attempts unfinished": one(),
  "attempts countInDoubt": one(),
  "attempts later": each((n) => [order, idOf(n / 2)], 100),
  "attempts laterEvents": each((n) => [order, idOf(n / 2)], 100),
  "attempts newest": (n) => [
    [noBound, 50],
    [n / 2, 50],
  ],
  "attempts newestAlone": (n) => [
    [noBound, 20],
    [n / 2, 20],
  ],
  "attempts ids": (n) => [
    ["~", 50],
    [idOf(n / 2), 50],
  ],
  "attempts startOf": (n) => [[n], [noBound]],
  ...pages("attempts listed"),
};

const answers: Record<string, Ways> = {
  "answers undeliveredGenerated": () => [
    [999, "EUR"],
    [1, "EUR"],
  ],
  "answers markAnswerDelivered": each(() => [firstFailed, order]),
  "answers markChargeUnread": each(() => [0, order]),
  "answers isChargeUnread": each(() => [firstFailed, order]),
  "answers markChargeRead": each(() => [firstFailed, order]),
  "answers countUnread": one(),
  "answers unread": one(5),
};

const evidence: Record<string, Ways> = {
  "records begun": ofAttempt,
  "records nextAttempt": (n) => [
    [order, 1],
    [order, n / 2 - 10],
    [idOf(n / 2), n / 2],
    ["nowhere", 1],
  ],
  "records position": ofAttempt,
  "records nextUnheard": ofAttempt,
  "records nextReversal": (n) => [[0], [n]],
  "records served": () => [
    [order, 1],
    ["nowhere", 1],
  ],
};

const archive: Record<string, Ways> = {
  "archive next": (n) => [
    [noBound, -1, -1, 100],
    [noBound, n / 2, n / 2, 100],
    [2, -1, -1, 100],
    [noBound, noBound, 0, 100],
  ],
  "archive isArchivable": () => [
    [0, order],
    [0, "nowhere"],
  ],
  "archive attempts": ofAttempt,
  "archive keep": one("new", "new", 1, 999, "EUR", 0, null, 0, 0, "{}", null),
  "archive comparable": one(),
  "archive spokenOf": ofAttempt,
  "archive dropHandOff": ofAttempt,
  "archive dropEvents": ofAttempt,
  "archive dropAttempt": each(() => [firstFailed]),
  "archive unsent": (n) => [[0], [n]],
  "archive holds": ofArchived,
  "archive ofOrder": ofArchived,
  "handOffs archived": ofArchived,
  "archive noteReturn": () => [
    [5, idOf(1, "a")],
    [5, "nowhere"],
  ],
  "archive startOf": (n) => [[n], [noBound]],
  "archive packedUpTo": one(),
  ...pages("archived listed"),
};

const packing: Record<string, Ways> = {
  "packing next": one(noBound, 20),
  "packing events": ofAttempt,
  "packing attempt": (n) => [["{}", "{}", "{}", "", n / 2]],
  "packing event": (n) => [["{}", null, n / 2]],
  "packing moveAttempt": (n) => [[n / 2]],
  "packing moveEvent": (n) => [[n / 2]],
  "packing done": one(5),
  "packing readers": one(),
  "packing newReaders": one(),
};

const handOffs: Record<string, Ways> = {
  "refused list": one(0, 50),
  "refused drop": ofAttempt,
  "refused reopen": ofAttempt,
  "refused requeue": ofAttempt,
  "handOffs add": one(firstFailed, "{}"),
  "handOffs withdraw": ofAttempt,
  "handOffs read": ofAttempt,
  "handOffs pending": one(0, 0, 10),
  "handOffs countRefused": one(),
  "handOffs oldestNotAccepted": one(10),
  "handOffs standingAtGateway": one(0, 100),
  "handOffs refused": ofAttempt,
  "handOffs noteRefusal": one(0, "refused", order),
  "handOffs countPending": one(),
  "handOffs accept": ofAttempt,
  "handOffs acceptWithdrawal": ofAttempt,
  "handOffs setDelivery": (n) => [idOf(4), idOf(n / 2), "nowhere"].map((id) => ["sent", id]),
  "handOffs orderOf": ofAttempt,
  "handOffs undelivered": () => ["pending", "parked", "nothing"].map((state) => [state, 50]),
};

const returns: Record<string, Ways> = {
  "returns neverAsked": () => [order, "nowhere"].map((id) => [id, "key"]),
  "returns reserve": () => [order, "nowhere"].map((id) => ["{}", id, 1, 999]),
  "returns end": () => [idOf(1), order, "nowhere"].map((id) => [1, 1, id, "1"]),
  "returns open": one(),
  "returns unalarmed": one(100),
  "returns readTo": one(),
  "returns setReadTo": one(1),
  "returns note": () => [order, "nowhere"].map((id) => [1, id]),
};

const terminalLog: Record<string, Ways> = {
  "terminalLog beginTelecollection": one(0, "operator", null),
  "terminalLog endTelecollection": () => [1, -1].map((id) => [0, "{}", id]),
  "terminalLog demanded": (n) => [[0], [2 * n]],
  "terminalLog afterTelecollection": ofAttempt,
  "terminalLog telecollectionAfter": (n) => [[0], [n / 2], [2 * n]],
  "terminalLog telecollectionSince": (n) => [[0], [n / 2], [2 * n]],
  "terminalLog keepUnmatched": one(0, "{}", "{}", "open", 0),
  "terminalLog dropUnmatched": (n) => [[n - 1_000], [n]],
  "terminalLog openUnmatched": one(),
  "terminalLog soldSince": (n) => [[1], [n], [-1]],
  "terminalLog closedSince": (n) => [[1], [n], [-1]],
  "terminalLog wasUnmatchedSince": ofAttempt,
  "terminalLog unmatchedSince": each((n) => [idOf(n / 2)]),
  "terminalLog endUnmatched": () => [1, -1].map((id) => ["held", "", 0, id]),
  "terminalLog unmatched": one(20),
  "terminalLog heldAs": () => [["K000000000"], ["nowhere"]],
  "terminalLog heldReferences": one(),
  "terminalLog accepted": one(),
  "terminalLog accept": one("{}", 0),
};

const day: Record<string, Ways> = {
  "day add": (n) => [
    [n, 1, 0, 0, 5],
    [3 * n, 1, 0, 0, null],
  ],
  "day drop": one(2),
  "day hours": (n) => [
    [0, 25],
    [n / 2, n / 2 + 25],
    [2 * n, 3 * n],
  ],
  "day closings": (n) => [
    [0, 10],
    [n / 2, n],
    [2 * n, 3 * n],
  ],
  "day compared": (n) => [[1], [n], [2 * n]],
};

const reconciliation: Record<string, Ways> = {
  "reconciliation uncompared": one(3),
  "reconciliation closing": (n) => [[1], [n]],
  "reconciliation earlier": (n) => [
    [n, 3],
    [2, 3],
  ],
  "reconciliation newest": (n) => [
    [n, 500],
    [Number.MAX_SAFE_INTEGER, 500],
  ],
  "reconciliation upTo": () => [order, "nowhere"].map((id) => [id, 200]),
  "reconciliation formerReceipt": ofAttempt,
  "reconciliation archived": (n) => [[n]],
  "reconciliation archivedUnknown": (n) => [[0], [2 * n]],
  "reconciliation spokenOf": ofAttempt,
  "reconciliation keep": one(0, null, "jump", "{}"),
  "reconciliation suspect": () => [order, "nowhere"].map((id) => ["{}", id]),
  "reconciliation refuted": one(),
  "reconciliation refute": one(),
  "reconciliation unsuspect": ofAttempt,
  "reconciliation list": (n) => [[n, 50]],
};

const events: Record<string, Ways> = {
  "events append": one(0, "alarm", "{}"),
  "events drop": one(1),
  "events after": (n) => [
    [0, 100],
    [n, 100],
  ],
  "events alarms": one(5),
  "events lastId": one(),
  "alarms last": one(),
  "alarms lastOf": each(() => [idOf(1, "d")]),
  "alarms raisedHere": () => [
    ["test", order],
    ["test", "nowhere"],
    ["nothing", order],
  ],
  "alarms remember": () => [
    [idOf(1, "d"), 1],
    ["new", 1],
  ],
};

const lossOf: Record<string, Ways> = { "records doubted": ofAttempt };

const again: Record<string, Ways> = {
  "resync begin": one(),
  "resync where": one(),
  "resync move": one(1, 1),
  "resync end": one(),
  "resync archived": (n) => [
    [0, 10],
    [n, 10],
  ],
  "resync handOffs": (n) => [
    [0, 10],
    [n, 10],
  ],
};

const gaps: Record<string, Ways> = {
  "gaps open": one(),
  "gaps all": one(),
  "gaps closed": (n) => [[0], [n], [2 * n]],
  "gaps begin": one(0, "test", 0),
  "gaps add": one("test", 0),
  "gaps ran": one(1),
  "gaps moveTo": one(1, null),
  "gaps end": one(0, "operator"),
  "gaps ofNoOrder": one("[]"),
  "gaps concerns": () => [[order], ["nowhere"]],
  "gaps archived": ofArchived,
  "gaps insert": one("new", "new", 999, "EUR", "charged", "{}", "{}", 0, "0001", "000001"),
  "gaps change": one("charged", "{}", 0, "0001", "000001", order),
  "gaps returned": () => [order, "nowhere"].map((id) => [5, null, id]),
  "gaps handOff": one(firstFailed, "{}", "sent", 0),
  "gaps isToRestore": () => [[order], ["nowhere"]],
};

const learned: Record<string, Ways> = {
  "learned read": one("here", "stores-reversals"),
  "learned forget": one("here"),
  "learned keep": one("here", "stores-reversals", 1),
};

/** By the name of each statement of the journal; a test fails for one that has no entry. */
export const waysToRun: Readonly<Record<string, Ways>> = {
  ...auditEntries,
  ...records,
  ...acknowledged,
  ...attempts,
  ...answers,
  ...evidence,
  ...archive,
  ...packing,
  ...handOffs,
  ...returns,
  ...terminalLog,
  ...day,
  ...reconciliation,
  ...events,
  ...lossOf,
  ...again,
  ...gaps,
  ...learned,
};
