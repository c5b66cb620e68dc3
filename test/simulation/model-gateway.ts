import { sleep } from "../../src/shared/time.ts";
import type { Transaction } from "../../src/shared/transaction.ts";
import type { TryClass } from "../../src/supervisor/gateway/fault-table.ts";
import type { Verdict } from "../../src/supervisor/gateway/faults.ts";
import type { Gateway, GatewayReply } from "../../src/supervisor/gateway/gateway.ts";
import type { TestClock } from "../support/test-clock.ts";
import type { Life } from "./life.ts";
import type { GatewayMode } from "./plan.ts";

/** The orders that the gateway has taken; they outlive every process of ours. */
export class ModelGateway {
  readonly orders: Transaction[] = [];
  #mode: GatewayMode | undefined;
  #untilMs = 0;
  readonly #clock: TestClock;

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  fail(mode: GatewayMode, ms: number): void {
    this.#mode = mode;
    this.#untilMs = this.#clock.monotonicMs() + ms;
  }

  heal(): void {
    this.#untilMs = 0;
  }

  /** What one life of the supervisor talks to. */
  clientFor({ clock }: Life): Gateway {
    return {
      ready: () => Promise.resolve(),
      close: () => {},
      generate: async (transaction) => {
        await sleep(clock, "gateway", 200);
        const answer = this.#take(transaction);
        await sleep(clock, "gateway", 200);
        return answer;
      },
      findOrder: async ({ transactionId, orderId }) => {
        await sleep(clock, "gateway", 200);
        const failing = this.#failing();
        if (failing !== undefined)
          return { kind: "untold", verdict: verdict(failing), refused: false };
        if (this.orders.some((order) => order.transactionId === transactionId)) {
          return { kind: "ours" };
        }
        const isOther = this.orders.some((order) => order.orderId === orderId);
        return isOther
          ? { kind: "other", why: "it is of another transaction" }
          : { kind: "absent" };
      },
    };
  }

  #failing(): GatewayMode | undefined {
    return this.#clock.monotonicMs() < this.#untilMs ? this.#mode : undefined;
  }

  #take(transaction: Transaction): GatewayReply {
    const failing = this.#failing();
    if (failing === undefined || failing === "lost-answer") this.orders.push(transaction);
    return { verdict: verdict(failing ?? "sent"), notes: [] };
  }
}

function verdict(of: TryClass): Verdict {
  const fields = new Map<string, string>();
  return { class: of, httpStatus: 200, code: 0, description: of, retryAfter: null, fields };
}
