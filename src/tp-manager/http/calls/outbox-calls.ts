import { z } from "zod";
import { AppError, type ErrorCode } from "../../../shared/errors.ts";
import {
  deliveryStateSchema,
  NOTE_CHARACTERS_MAX,
  OUTBOX_PAGE_MAX,
  type OutboxItem,
} from "../../../shared/ipc/contract.ts";
import { majorOf } from "../../../shared/money.ts";
import { isoTime } from "../../../shared/time.ts";
import { type AnyCall, call } from "../call.ts";
import { sendList, sendOne } from "../envelope.ts";
import { note, oneOf, pageLimit, wholeNumber } from "../input.ts";

/** Above every number that the supervisor gives an item. */
const CURSOR_MAX = 1e15;

const aboutItem: readonly ErrorCode[] = [
  ...(["OUTBOX_ITEM_NOT_FOUND", "OUTBOX_ITEM_BUSY", "OUTBOX_ITEM_SETTLED"] as const),
  "SUPERVISOR_UNAVAILABLE",
];

/** Calls of operators about transactions that wait for the gateway. */
export const outboxCalls: readonly AnyCall[] = [
  call({
    path: "/outbox",
    methods: ["GET"],
    reads: true,
    role: "operator",
    summary: "The transactions for the gateway, oldest first, and how far each got",
    description: "The header next-cursor continues behind a full page.",
    query: z.strictObject({
      state: oneOf(deliveryStateSchema.options).optional().describe("pending: what waits."),
      limit: pageLimit(OUTBOX_PAGE_MAX),
      cursor: wholeNumber(CURSOR_MAX).optional().describe("The next-cursor of the page before."),
    }),
    document: ({ outboxItem }) => ({
      answer: { ...outboxItem, list: true },
      errors: ["SUPERVISOR_UNAVAILABLE"],
    }),
    async handle({ query, reply }, { supervisor }) {
      const { items, more } = await supervisor.ask("outbox-list", query);
      const last = items.at(-1);
      if (more && last) void reply.header("next-cursor", String(last.sequence));
      return sendList(reply, 200, items.map(entry));
    },
  }),

  call({
    path: "/outbox/{id}/requeue",
    idOf: "transaction",
    methods: ["POST"],
    role: "operator",
    summary: "Send a parked or waiting transaction now",
    body: z.strictObject({}).optional(),
    document: ({ outboxDone }) => ({ answer: outboxDone, errors: aboutItem }),
    async handle({ params: { id }, reply }, { supervisor }) {
      const { outcome } = await supervisor.ask("outbox-requeue", { transactionId: id });
      if (outcome !== "queued") throw refusal(id, outcome);
      const message = "The transaction is sent again now.";
      return sendOne(reply, 200, { status: "Success", transactionId: id, message });
    },
  }),

  call({
    path: "/outbox/{id}/drop",
    idOf: "transaction",
    methods: ["POST"],
    role: "operator",
    summary: "Close a transaction without sending it",
    description: "For good, with an operator's note.",
    body: z.strictObject({ note: note(NOTE_CHARACTERS_MAX) }),
    document: ({ outboxDone }) => ({
      bodyExample: { note: "booked by hand" },
      answer: outboxDone,
      errors: ["CARD_DATA_REFUSED", ...aboutItem],
    }),
    async handle({ params: { id }, body: { note }, reply }, { supervisor }) {
      const { outcome } = await supervisor.ask("outbox-drop", { transactionId: id, note });
      if (outcome !== "dropped") throw refusal(id, outcome);
      const message = "The transaction is closed and will not be sent.";
      return sendOne(reply, 200, { status: "Success", transactionId: id, message });
    },
  }),
];

function refusal(
  transactionId: string,
  outcome: "unknown" | "running" | "sent" | "closed",
): AppError {
  switch (outcome) {
    case "unknown":
      return new AppError("OUTBOX_ITEM_NOT_FOUND", undefined, { details: { transactionId } });
    case "running":
      return new AppError("OUTBOX_ITEM_BUSY", undefined, { details: { transactionId } });
    case "sent":
    case "closed":
      return new AppError("OUTBOX_ITEM_SETTLED", undefined, {
        details: { transactionId, state: outcome },
      });
  }
}

function entry(item: OutboxItem): object {
  const { amountMinor, lastTry } = item;
  return {
    transactionId: item.transactionId,
    orderId: item.orderId,
    state: item.state,
    amount: majorOf(amountMinor, item),
    currency: item.currency,
    queuedAt: isoTime(item.queuedAtMs),
    nextTryAt: isoTime(item.nextTryAtMs),
    settledAt: isoTime(item.settledAtMs),
    tries: item.tries,
    ambiguous: item.ambiguous,
    reason: item.reason,
    lastTry: lastTry && {
      endedAt: isoTime(lastTry.endedAtMs),
      class: lastTry.class,
      httpStatus: lastTry.httpStatus,
      code: lastTry.code,
      description: lastTry.description,
    },
  };
}
