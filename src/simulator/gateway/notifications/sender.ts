import { request as httpsRequest } from "node:https";
import { httpRequest } from "../../../shared/process/node-http.ts";
import type { Clock, Timer } from "../../../shared/time.ts";
import { deliverMail, type MailTarget } from "./mail.ts";
import {
  type Attempt,
  type Notification,
  type NotificationStore,
  verdictOf,
} from "./notification-store.ts";

/** How long a merchant's listener may take to answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 20_000;

const ORDERS_AT_ONCE = 16;

interface SenderParts {
  readonly notifications: NotificationStore;
  readonly clock: Clock;
  readonly mail: MailTarget | undefined;
  readonly closing: AbortSignal;
  readonly report: (error: Error) => void;
}

/**
 * Delivers due notifications, of at most 16 orders at once. Notifications of one order follow one
 * after the other, and so do mails of one order, so that a hanging mail server delays no
 * notification. Notifications wait in the database, so none is lost when the sandbox stops.
 */
export class Sender {
  readonly #parts: SenderParts;
  /** The deliveries under way: for each order at most one of notifications and one of mails. */
  readonly #underway = new Map<string, Promise<void>>();
  #timer: Timer | undefined;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Starts all deliveries that are due. Called again when one ends or the next one is due. */
  kick(): void {
    const { notifications, clock, closing } = this.#parts;
    if (closing.aborted) return;
    // The queries for due and for later notifications use the same time, so that none is missed.
    const nowMs = clock.now();
    const due = notifications.due(nowMs, ORDERS_AT_ONCE * 4);
    for (const [row, mine] of Map.groupBy(due, (one) => `${one.orderId} ${isMail(one)}`)) {
      if (this.#underway.size >= ORDERS_AT_ONCE) break;
      if (!this.#underway.has(row)) this.#underway.set(row, this.#work(row, mine));
    }
    this.#timer?.clear();
    const dueMs = notifications.nextDueAfterMs(nowMs);
    if (dueMs === undefined) return;
    this.#timer = clock.startTimer("next notification", dueMs - nowMs, () => this.kick());
  }

  async deliverDue(): Promise<void> {
    this.kick();
    while (this.#underway.size > 0) await Promise.all(this.#underway.values());
  }

  /** Resolves when no delivery is under way; the caller has aborted `closing` before. */
  async stopped(): Promise<void> {
    this.#timer?.clear();
    await Promise.all(this.#underway.values());
  }

  async #work(row: string, due: readonly Notification[]): Promise<void> {
    const { notifications, closing, report } = this.#parts;
    try {
      for (const notification of due) {
        if (closing.aborted) return;
        const attempt = await this.#deliver(notification);
        // An attempt that was cut off because the sandbox stops says nothing about the merchant.
        if (!closing.aborted) notifications.recordAttempt(notification, attempt);
      }
    } catch (error) {
      report(error instanceof Error ? error : new Error(String(error)));
      return;
    } finally {
      this.#underway.delete(row);
    }
    this.kick();
  }

  async #deliver(notification: Notification): Promise<Attempt> {
    const { clock, closing, mail } = this.#parts;
    const overdue = new AbortController();
    const timer = clock.startTimer("notification answer", ANSWER_TIMEOUT_MS, () =>
      overdue.abort(new Error(`the notification got no answer in ${ANSWER_TIMEOUT_MS} ms`)),
    );
    try {
      const signal = AbortSignal.any([overdue.signal, closing]);
      if (mail && isMail(notification)) {
        const { url, createdAt, body } = notification;
        const to = url.slice(MAILTO.length).split(",");
        return await deliverMail(mail, { to, writtenAt: createdAt, text: body }, signal);
      }
      const status = await post(notification, signal);
      return { verdict: verdictOf(status), answer: `HTTP ${status}` };
    } catch (error) {
      const cause = overdue.signal.aborted ? overdue.signal.reason : error;
      return { verdict: "again", answer: cause instanceof Error ? cause.message : String(cause) };
    } finally {
      timer.clear();
    }
  }
}

const MAILTO = "mailto:";

function isMail({ url }: Notification): boolean {
  return url.startsWith(MAILTO);
}

/** The most bytes of a merchant's answer, of which only the HTTP status matters. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** Posts a notification on a new connection and returns the HTTP status; follows no redirect. */
function post({ url, contentType, body, signature }: Notification, signal: AbortSignal) {
  const target = new URL(url);
  const request = target.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = {
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    "user-agent": "gateway-sandbox",
    ...(signature !== "" && { "x-allopass-signature": signature }),
  };
  return new Promise<number>((resolve, reject) => {
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
    // An HTTP status that arrived before the connection broke counts as the answer.
    outgoing.on("error", (error) => (status === undefined ? reject(error) : resolve(status)));
    outgoing.on("close", () => resolve(status ?? 0));
    outgoing.end(body);
  });
}
