import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Clock, Timer } from "../../../shared/time.ts";
import type { Notification, NotificationStore } from "./notification-store.ts";
import { pauseAfterMs, stateAfter } from "./retry-policy.ts";

/** Merchants' listeners write to a shop's database; longer than this means that they are stuck. */
const ANSWER_TIMEOUT_MS = 20_000;

/** Orders whose notifications are under way at the same time. */
const ORDERS_AT_ONCE = 16;

interface SenderParts {
  readonly notifications: NotificationStore;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly report: (error: Error) => void;
}

/**
 * Delivers what is due: one order's notifications one after the other, several orders at once.
 * What waits is in the database, so nothing is forgotten when the sandbox stops.
 */
export class Sender {
  readonly #parts: SenderParts;
  #working: Promise<void> | undefined;
  #again = false;
  #timer: Timer | undefined;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Looks for what is due, now or when the present round is over. */
  kick(): void {
    if (this.#parts.closing.aborted) return;
    this.#again = true;
    this.#working ??= this.#work()
      .catch((error: unknown) => {
        this.#parts.report(error instanceof Error ? error : new Error(String(error)));
      })
      .finally(() => {
        this.#working = undefined;
      });
  }

  /** Makes an attempt at everything that is due, and waits for its end. */
  async deliverDue(): Promise<void> {
    this.kick();
    await this.#working;
  }

  /** Resolves when nothing is under way; the caller has aborted `closing` before. */
  async stopped(): Promise<void> {
    this.#timer?.clear();
    await this.#working;
    this.#timer?.clear();
  }

  async #work(): Promise<void> {
    const { notifications, closing } = this.#parts;
    while (this.#again && !closing.aborted) {
      this.#again = false;
      const due = notifications.due(ORDERS_AT_ONCE * 4);
      const orders = [...Map.groupBy(due, ({ orderId }) => orderId).values()];
      await Promise.all(orders.slice(0, ORDERS_AT_ONCE).map((mine) => this.#inTurn(mine)));
      if (due.length > 0) this.#again = true;
    }
    if (!closing.aborted) this.#sleepUntilNext();
  }

  #sleepUntilNext(): void {
    const { notifications, clock } = this.#parts;
    this.#timer?.clear();
    const dueMs = notifications.nextDueMs();
    if (dueMs === undefined) return;
    this.#timer = clock.startTimer("next notification", dueMs - clock.now(), () => this.kick());
  }

  async #inTurn(due: readonly Notification[]): Promise<void> {
    for (const notification of due) {
      if (this.#parts.closing.aborted) return;
      await this.#attempt(notification);
    }
  }

  async #attempt(notification: Notification): Promise<void> {
    const { notifications, clock, closing } = this.#parts;
    const { status, words } = await this.#post(notification);
    // An attempt cut off by our own end says nothing about the merchant.
    if (closing.aborted) return;
    const attempts = notification.attempts + 1;
    const dueMs = clock.now() + (pauseAfterMs(attempts) ?? 0);
    notifications.recordAttempt(notification.id, stateAfter(status, attempts), words, dueMs);
  }

  async #post(notification: Notification): Promise<{ status?: number; words: string }> {
    const { clock, closing } = this.#parts;
    const overdue = new AbortController();
    const timer = clock.startTimer("notification answer", ANSWER_TIMEOUT_MS, () =>
      overdue.abort(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)),
    );
    try {
      const signal = AbortSignal.any([overdue.signal, closing]);
      const status = await post(notification, signal);
      return { status, words: `HTTP ${status}` };
    } catch (error) {
      const cause = overdue.signal.aborted ? overdue.signal.reason : error;
      return { words: cause instanceof Error ? cause.message : String(cause) };
    } finally {
      timer.clear();
    }
  }
}

/** What a merchant may say in its body, which is ignored. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** One POST on a connection of its own; redirects are not followed, the body is not kept. */
function post(
  { url, contentType, body, signature }: Notification,
  signal: AbortSignal,
): Promise<number> {
  const target = new URL(url);
  const request = target.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = {
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    "user-agent": "gateway-sandbox",
    ...(signature !== "" && { "x-allopass-signature": signature }),
  };
  return new Promise((resolve, reject) => {
    let status: number | undefined;
    const outgoing = request(target, { method: "POST", agent: false, signal, headers });
    outgoing.on("response", (response) => {
      status = response.statusCode;
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) response.destroy();
      });
      response.on("error", () => response.destroy());
    });
    // A status that came before the connection broke is an answer all the same.
    outgoing.on("error", (error) => (status === undefined ? reject(error) : resolve(status)));
    outgoing.on("close", () => resolve(status ?? 0));
    outgoing.end(body);
  });
}
