import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { AppError, type ErrorCode } from "../../../shared/catalog/errors.ts";
import {
  deliveryStateSchema,
  NOTE_CHARACTERS_MAX,
  OUTBOX_PAGE_MAX,
  type OutboxItem,
} from "../../../shared/ipc/contract.ts";
import { majorOf } from "../../../shared/money.ts";
import { isoTime } from "../../../shared/time.ts";
import { storage } from "../../attempts/failures.ts";
import type { RefusedHandOff } from "../../journal/operator-rows.ts";
import { PARKED_MS } from "../../supervisor/hand-off.ts";
import { note, oneOf, pageLimit, wholeNumber } from "../body/input.ts";
import { type AnyCall, call } from "../call.ts";
import { success } from "../envelope.ts";

/** The largest cursor; the supervisor numbers no item so high. */
const CURSOR_MAX = 1e15;

/** The state in which a transaction is listed that the supervisor refused to store. */
const REFUSED = "refused" as const;

const aboutItem: readonly ErrorCode[] = [
  "OUTBOX_ITEM_NOT_FOUND",
  "OUTBOX_ITEM_BUSY",
  "OUTBOX_ITEM_SETTLED",
  "SUPERVISOR_UNAVAILABLE",
  "STORAGE_FAILED",
];

export const outboxCalls: readonly AnyCall[] = [
  call({
    path: "/outbox",
    reads: true,
    role: "operator",
    query: z.strictObject({
      state: oneOf([...deliveryStateSchema.options, REFUSED]).optional(),
      limit: pageLimit(OUTBOX_PAGE_MAX),
      cursor: wholeNumber(CURSOR_MAX).optional(),
    }),
    document: ({ outboxItem }) => ({
      answer: outboxItem,
      list: true,
      errors: ["SUPERVISOR_UNAVAILABLE"],
    }),
    async handle({ query: { state, ...page }, reply }, { supervisor, refused }) {
      if (state === REFUSED) {
        const found = storage(() => refused.list(page.cursor ?? 0, page.limit + 1), "unknown");
        const items = found.slice(0, page.limit);
        if (found.length > page.limit) continueAt(reply, items.at(-1)?.position);
        return items.map(refusedEntry);
      }
      const { items, more } = await supervisor.ask("outbox-list", { ...page, state });
      if (more) continueAt(reply, items.at(-1)?.sequence);
      return items.map(entry);
    },
  }),

  call({
    path: "/outbox/{id}/requeue",
    idOf: "transaction",
    role: "operator",
    body: z.strictObject({}).optional(),
    document: ({ outboxDone }) => ({ answer: outboxDone, errors: aboutItem }),
    async handle({ params: { id }, request }, { supervisor, refused }) {
      if (storage(() => refused.requeue(id), "unknown")) {
        return done(id, "The transaction is handed off to the supervisor again now.");
      }
      const { outcome } = await supervisor.ask("outbox-requeue", {
        transactionId: id,
        by: nameOf(request),
        note: request.person?.reason,
      });
      if (outcome !== "queued") throw refusal(id, outcome);
      return done(id, "The transaction is sent to the gateway again now.");
    },
  }),

  call({
    path: "/outbox/{id}/drop",
    idOf: "transaction",
    role: "operator",
    body: z.strictObject({ note: note(NOTE_CHARACTERS_MAX) }),
    document: ({ outboxDone }) => ({
      answer: outboxDone,
      errors: ["CARD_DATA_REFUSED", ...aboutItem],
    }),
    async handle({ params: { id }, body: { note }, request }, { supervisor, refused }) {
      if (storage(() => refused.drop(id, note), "unknown")) {
        return done(id, "The transaction is closed and will not be handed off to the supervisor.");
      }
      const { outcome } = await supervisor.ask("outbox-drop", {
        transactionId: id,
        note,
        by: nameOf(request),
      });
      if (outcome !== "dropped") throw refusal(id, outcome);
      return done(id, "The transaction is closed and will not be sent to the gateway.");
    },
  }),
];

/** Returns the name that the console asks for; a call without the console has only a login. */
const nameOf = ({ person, role }: FastifyRequest): string => person?.by ?? `API (${role})`;

const done = (transactionId: string, message: string) => ({ ...success, transactionId, message });

const refusals = {
  unknown: "OUTBOX_ITEM_NOT_FOUND",
  running: "OUTBOX_ITEM_BUSY",
  sent: "OUTBOX_ITEM_SETTLED",
  closed: "OUTBOX_ITEM_SETTLED",
} as const;

function refusal(transactionId: string, outcome: keyof typeof refusals): AppError {
  const isSettled = outcome === "sent" || outcome === "closed";
  const details = isSettled ? { transactionId, state: outcome } : { transactionId };
  return new AppError(refusals[outcome], undefined, { details });
}

function continueAt(reply: FastifyReply, cursor: number | undefined): void {
  if (cursor !== undefined) void reply.header("next-cursor", String(cursor));
}

function refusedEntry({ transaction, why, refusedAtMs }: RefusedHandOff) {
  const { transactionId, orderId, amountMinor, currency, approvedAtMs } = transaction;
  return {
    transactionId,
    orderId,
    state: REFUSED,
    amount: majorOf(amountMinor, transaction),
    currency,
    queuedAt: isoTime(approvedAtMs),
    nextTryAt: isoTime(refusedAtMs + PARKED_MS),
    settledAt: null,
    tries: 0,
    ambiguous: false,
    reason: `the supervisor refuses the transaction: ${why}`,
    lastTry: null,
  };
}

function entry(item: OutboxItem) {
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
