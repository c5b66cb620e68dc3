import { randomUUID } from "node:crypto";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type {
  DeliveryState,
  KnownOrder,
  RequestOf,
  ResponseOf,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";
import { noDetails, type Transaction, transactionSchema } from "../../shared/transaction.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { HistoryParts } from "../operations/history-parts.ts";
import { returnedOfOrder } from "../operations/returned-sums.ts";
import type { StoreLosses } from "./store-losses.ts";

type Messages = typeof supervisorMessages;

interface KnownOrdersParts {
  readonly database: DatabaseSync;
  readonly history: HistoryParts;
  readonly losses: Pick<StoreLosses, "isWhole">;
}

/** By places in the queue, or by the order's number: CROSS JOIN keeps the tables in this order. */
const everyOrder = `
  SELECT sequence, state, reversed, content
  FROM outbox CROSS JOIN transactions USING (transaction_id)
  WHERE sequence > :after ORDER BY sequence LIMIT :limit`;
const oneOrder = `
  SELECT sequence, state, reversed, content
  FROM transactions CROSS JOIN outbox USING (transaction_id)
  WHERE order_id = :order AND sequence > :after ORDER BY sequence LIMIT :limit`;

/**
 * The charged orders of this database, for a journal that was lost or restored
 * (docs/rules/17-loss.md): what was reversed at the terminal, returned at the gateway and dropped
 * by an operator is kept apart.
 */
export class KnownOrders {
  readonly #parts: KnownOrdersParts;

  constructor(parts: KnownOrdersParts) {
    this.#parts = parts;
  }

  list({
    orderId,
    after,
    limit,
  }: RequestOf<Messages, "known-orders">): ResponseOf<Messages, "known-orders"> {
    const { database, losses } = this.#parts;
    const rows =
      orderId === undefined
        ? database.prepare(everyOrder).all({ after, limit: limit + 1 })
        : database.prepare(oneOrder).all({ after, order: orderId, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      orders: page.flatMap((row) => this.#known(row)),
      last: last ? Number(last["sequence"]) : after,
      more: rows.length > limit,
      whole: losses.isWhole,
    };
  }

  /** One whose stored form is damaged tells nothing; its try is parked with an alarm. */
  #known(row: Record<string, SQLOutputValue>): KnownOrder[] {
    const read = readJson(String(row["content"]));
    const parsed = transactionSchema.safeParse(read);
    if (!parsed.success) return [];
    const { history } = this.#parts;
    const { transactionId } = parsed.data;
    const ids = history.operations.copiesOf(transactionId);
    const [open] = ids.flatMap((id) => history.operations.openOf(id) ?? []);
    return [
      {
        // The journal's copy needs no lines for the gateway, and a page has to fit a message.
        transaction: { ...parsed.data, cart: [] },
        state: row["state"] as DeliveryState,
        reversed: row["reversed"] === 1,
        returnedMinor: returnedOfOrder(transactionId, history),
        openReturn: open && open.kind !== "confirm" ? open : null,
      },
    ];
  }
}

/**
 * Asks the gateway for an order of which nothing is known but its number: whatever it has under
 * that number is of another transaction than the one that is asked for.
 */
export async function orderAtGateway(
  orderId: string,
  gateway: Pick<Gateway, "findOrder">,
): Promise<ResponseOf<Messages, "order-at-gateway">> {
  const nobody = { ...emptyTransaction, transactionId: randomUUID(), orderId };
  const finding = await gateway.findOrder(nobody, new AbortController().signal);
  switch (finding.kind) {
    case "absent":
      return { found: "absent", why: "the gateway does not have the order" };
    case "ours":
    case "other":
      return { found: "present", why: "the gateway has an order of this number" };
    case "untold":
      return { found: "untold", why: `the gateway did not tell: ${finding.verdict.description}` };
  }
}

const emptyTransaction: Omit<Transaction, "transactionId" | "orderId"> = {
  origin: "recovery",
  amountMinor: 1,
  currency: "EUR",
  exponent: 2,
  approvedAtMs: 0,
  ...noDetails,
};

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
