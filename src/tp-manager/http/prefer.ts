import type { FastifyReply } from "fastify";
import { z } from "zod";
import type { Clock } from "../../shared/time.ts";
import type { EventHub } from "./events/event-hub.ts";

export const preferHeader = z.object({ prefer: z.string().optional() });

/** The most seconds that a reader waits; a larger number counts as this one. */
const WAIT_SECONDS_MAX = 60;
/** The most readers that wait at once; further readers are answered at once. */
const WAITING_MAX = 64;

const quoted = /=\s*"((?:[^"\\]|\\.)*)"/g;
const token = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Returns what a request prefers (RFC 7240): the answer 202 as soon as its payment runs, and how
 * many seconds a reader waits for the outcome. A header that is malformed prefers nothing.
 */
export function preferencesOf(header = ""): { isAsync: boolean; waitSeconds: number } {
  const given = new Map<string, string>();
  // A quoted text that is no token may have commas; none of the known preferences has such a value.
  const plain = header.replace(quoted, (_, text: string) => {
    return `=${isTokenOrEmpty(text) ? text : "other"}`;
  });
  for (const item of plain.split(",")) {
    const parts = item.split(";").map((part) => part.split("=").map((text) => text.trim()));
    const isForm = parts.every((part) => part.length <= 2 && part.every(isTokenOrEmpty));
    const [name = "", value = ""] = parts[0] ?? [];
    if (!isForm || (name === "" && item.trim() !== "")) return { isAsync: false, waitSeconds: 0 };
    // Of a preference that is named twice, the first one counts.
    if (!given.has(name.toLowerCase())) given.set(name.toLowerCase(), value);
  }
  const wait = given.get("wait") ?? "";
  return {
    isAsync: given.get("respond-async") === "",
    waitSeconds: /^\d+$/.test(wait) ? Math.min(Number(wait), WAIT_SECONDS_MAX) : 0,
  };
}

const isTokenOrEmpty = (text: string): boolean => text === "" || token.test(text);

/** What one reader asks for: the order, and how many seconds it waits; 0: it does not wait. */
interface Reader {
  readonly orderId: string;
  readonly waitSeconds: number;
  readonly reply: FastifyReply;
}

/** Returns the readers of `GET /payment/{orderId}` that wait for the outcome, until a stop. */
export function waitingReaders(hub: EventHub, clock: Clock, stopping: AbortSignal) {
  const waiting = new Set<() => void>();
  stopping.addEventListener("abort", () => {
    for (const end of waiting) end();
  });
  return {
    /**
     * Returns what `read` returns, at once or, while that `isOpen`, after an event of the order.
     * The wait also ends with the reader's time, its connection, and a stop.
     */
    async read<T>(
      { orderId, waitSeconds, reply }: Reader,
      read: () => Promise<T>,
      isOpen: (answer: T) => boolean,
    ): Promise<T> {
      if (waitSeconds === 0 || waiting.size >= WAITING_MAX || stopping.aborted) return read();
      let changed = Promise.withResolvers<void>();
      let isOver = reply.raw.destroyed;
      const end = (): void => {
        isOver = true;
        changed.resolve();
      };
      const unsubscribe = hub.subscribe(({ name, data }) => {
        if (name === "payment" && data.orderId === orderId) changed.resolve();
      });
      const timer = clock.startTimer("payment reader", waitSeconds * 1000, end);
      waiting.add(end);
      reply.raw.once("close", end);
      try {
        for (;;) {
          // An event that comes while the order is read makes it be read again.
          changed = Promise.withResolvers<void>();
          const isLast = isOver;
          const answer = await read();
          if (!isOpen(answer)) return answer;
          void reply.header("preference-applied", `wait=${waitSeconds}`);
          if (isLast) return answer;
          await changed.promise;
        }
      } finally {
        timer.clear();
        unsubscribe();
        waiting.delete(end);
        reply.raw.off("close", end);
      }
    },
  };
}
