import type { FaultList } from "../faults.ts";
import type { Notifier } from "../notifications/notifier.ts";
import {
  type Demand,
  decide,
  failed,
  type Objection,
  type Order,
  type OrderOperation,
  type Payment,
} from "./order.ts";
import type { OrderStore } from "./order-store.ts";

/** A demand that the order's state or amounts do not allow. */
export class DemandRefused extends Error {
  override readonly name = "DemandRefused";
  readonly objection: Objection;

  constructor({ transactionPublicId }: Order, objection: Objection) {
    super(`transaction ${transactionPublicId}: ${objection.because}`);
    this.objection = objection;
  }
}

interface LedgerParts {
  readonly orders: OrderStore;
  readonly notifier: Notifier;
  readonly faults: FaultList;
  /** Payments wait until an operator pays or declines them. */
  readonly paymentsWait: boolean;
}

/**
 * Carries demands out: order, history and notifications change together, inside the transaction of
 * the caller.
 */
export class Ledger {
  readonly #orders: OrderStore;
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#orders = parts.orders;
    this.#parts = parts;
  }

  /** Pays the order with a good card, or lets it wait for an operator. */
  accept(order: Order, payment: Payment): Order {
    if (!this.#parts.paymentsWait) return this.pay(order, payment);
    this.#orders.paidWith(order.id, payment);
    return this.#carryOut(order, [{ kind: "wait" }]);
  }

  /** Authorizes, and captures unless manualCapture forbids it (docs/design.md 12.10). */
  pay(order: Order, payment: Payment): Order {
    this.#orders.paidWith(order.id, payment);
    const demands: Demand[] = [{ kind: "authorize" }];
    if (!order.manualCapture) demands.push({ kind: "capture" });
    return this.#carryOut(order, demands);
  }

  decline(order: Order, payment: Payment): Order {
    this.#orders.paidWith(order.id, payment);
    return this.#carryOut(order, [{ kind: "decline" }]);
  }

  demand(order: Order, demand: Demand): Order {
    return this.#carryOut(order, [demand]);
  }

  /** Marks the capture as reported fraudulent, and notifies that. */
  reportFraud(order: Order): Order {
    if (!this.#orders.markFraud(order.id)) {
      throw new DemandRefused(order, { amount: false, because: "it has no capture to report" });
    }
    const changed = this.#read(order.id);
    this.#parts.notifier.fraud(changed, this.#orders.operations(order.id));
    return changed;
  }

  #carryOut(order: Order, demands: readonly Demand[]): Order {
    const known = this.#orders.operations(order.id).length;
    let current = order;
    for (const demand of demands) {
      const verdict = decide(current, demand);
      if (!verdict.allowed) throw new DemandRefused(order, verdict.objection);
      const fails = this.#parts.faults.takeForOperation(verdict.step.type);
      const step = fails ? failed(current, verdict.step) : verdict.step;
      this.#orders.change(order.id, step.next);
      this.#orders.addOperation(order.id, step);
      current = this.#read(order.id);
    }
    const added: OrderOperation[] = this.#orders.operations(order.id).slice(known);
    this.#parts.notifier.operations(current, added);
    return current;
  }

  #read(id: number): Order {
    const order = this.#orders.byId(id);
    if (!order) throw new Error(`order ${id} is gone`);
    return order;
  }
}
