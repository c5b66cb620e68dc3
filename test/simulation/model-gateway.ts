import { sleep } from "../../src/shared/time.ts";
import type { Transaction } from "../../src/shared/transaction.ts";
import type { TryClass } from "../../src/supervisor/gateway/fault-table.ts";
import type { Verdict } from "../../src/supervisor/gateway/faults.ts";
import type {
  Gateway,
  GatewayReply,
  OperationGateway,
} from "../../src/supervisor/gateway/gateway-client.ts";
import type { OperationKind } from "../../src/supervisor/gateway/operation-request.ts";
import type { TestClock } from "../support/clocks/test-clock.ts";
import type { Life } from "./life.ts";
import type { MerchantAccount } from "./merchant-account.ts";
import type { GatewayMode } from "./plan.ts";

/** The orders that the gateway has taken; they outlive every process of ours. */
export class ModelGateway {
  readonly orders: Transaction[] = [];
  #mode: GatewayMode | undefined;
  #untilMs = 0;
  readonly #clock: TestClock;
  /** Where returns are made and notified; undefined: nobody does. */
  account: MerchantAccount | undefined;

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
          return { kind: "unanswered", verdict: verdict(failing), refused: false };
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

  /** Cancels and refunds that one life of the supervisor asks for. */
  operationsFor({ clock }: Life): OperationGateway {
    return {
      operate: async ({ kind, transactionPublicId, amountMinor }) => {
        await sleep(clock, "gateway", 200);
        const answer = this.#operate(transactionPublicId, kind, amountMinor);
        await sleep(clock, "gateway", 200);
        return answer;
      },
      lookUp: async (id) => {
        await sleep(clock, "gateway", 200);
        const failing = this.#failing();
        if (failing === undefined && this.account) return this.account.lookUp(id);
        return { outcome: "failed", httpStatus: null, description: "no answer" };
      },
    };
  }

  /** A confirm is in no plan. */
  #operate(publicId: string, kind: OperationKind, amountMinor: number | null): Verdict {
    const failing = this.#failing();
    if (failing !== undefined && failing !== "lost-answer") return verdict(failing);
    const how = kind === "cancel" ? "cancel" : "refund";
    const given = { how, amountMinor, notified: "at-once" } as const;
    const done = this.account?.operate(publicId, given) ?? "order-refused";
    return verdict(failing ?? done);
  }

  #failing(): GatewayMode | undefined {
    return this.#clock.monotonicMs() < this.#untilMs ? this.#mode : undefined;
  }

  #take(transaction: Transaction): GatewayReply {
    const failing = this.#failing();
    if (failing === undefined || failing === "lost-answer") {
      this.orders.push(transaction);
      this.account?.make(transaction);
    }
    return { verdict: verdict(failing ?? "sent"), notes: [] };
  }
}

/** In answers of the gateway itself. */
const codes = new Map<TryClass, number>([
  ["sent", 0],
  ["credentials-refused", 1],
  ["order-refused", 9],
]);

function verdict(of: TryClass): Verdict {
  const fields = new Map<string, string>();
  return {
    class: of,
    httpStatus: 200,
    code: codes.get(of) ?? null,
    description: of,
    retryAfter: null,
    fields,
  };
}
