import type { DatabaseSync } from "node:sqlite";
import type {
  HandedAgain,
  RequestOf,
  ResponseOf,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { transaction } from "../../shared/store/sqlite.ts";
import type { Clock } from "../../shared/time.ts";
import { insertItem } from "../outbox/insert-item.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import type { StoreLosses } from "./store-losses.ts";

type Messages = typeof supervisorMessages;

interface TakeOverParts {
  readonly database: DatabaseSync;
  readonly store: Pick<OutboxStore, "content" | "delivery">;
  readonly losses: Pick<StoreLosses, "end">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after the commit for each transaction that waits for the gateway. */
  readonly onStored: (transactionId: string) => void;
}

const WORDS = "handed over again by the journal";

/** The journal is surer than an item that waits here. */
const asSent = `UPDATE outbox SET state = 'sent', settled_at_ms = :now,
    reason = '${WORDS}, which knows that the gateway has it'
  WHERE transaction_id = :id AND claimed_at_ms IS NULL AND state IN ('pending', 'parked')`;
const asClosed = `UPDATE outbox SET state = 'closed', dropped = :dropped, settled_at_ms = :now,
    reason = '${WORDS}, where it is closed'
  WHERE transaction_id = :id AND claimed_at_ms IS NULL AND state IN ('pending', 'parked')`;
const asParked = `UPDATE outbox SET state = 'parked', settled_at_ms = :now, reason = '${WORDS}'
  WHERE transaction_id = :id`;
const asReversed = "UPDATE outbox SET reversed = 1 WHERE transaction_id = :id AND reversed = 0";

/**
 * Takes over again what a journal has, after this database was lost or restored
 * (docs/rules/17-loss.md). Whatever the journal knows to be sent or closed is never queued again;
 * what is pending there is in doubt, because a former database may have sent it.
 */
export class TakeOver {
  readonly #parts: TakeOverParts;

  constructor(parts: TakeOverParts) {
    this.#parts = parts;
  }

  take({ items, last }: RequestOf<Messages, "take-over">): ResponseOf<Messages, "take-over"> {
    const { database, losses, log, onStored } = this.#parts;
    const added = transaction(database, () => items.filter((item) => this.#take(item)));
    if (last) losses.end();
    log.info({ items: items.length, added: added.length, last }, "taken over again");
    for (const { transaction: one, state } of added) {
      if (state === "pending") onStored(one.transactionId);
    }
    return { added: added.length };
  }

  /** true when the transaction was missing here. Throws while a try of it runs. */
  #take({ transaction: given, state, reversed }: HandedAgain): boolean {
    const { database, store, clock } = this.#parts;
    const id = given.transactionId;
    const now = clock.now();
    const missing = store.content(id) === undefined;
    if (missing) {
      insertItem(database, given, now, { isDoubtful: true });
      if (state === "parked") database.prepare(asParked).run({ id, now });
    }
    if (state === "sent") database.prepare(asSent).run({ id, now });
    if (state === "closed") {
      database.prepare(asClosed).run({ id, now, dropped: reversed ? 0 : 1 });
    }
    if (reversed) database.prepare(asReversed).run({ id });
    const settled = state === "sent" || state === "closed";
    if (settled && store.delivery(id)?.state === "pending") {
      throw new Error(`${id} is being sent at this moment; ask again`);
    }
    return missing;
  }
}
