import { onTestFinished } from "vitest";
import { sleep } from "../../../src/shared/time.ts";
import { judge } from "../../../src/supervisor/gateway/faults.ts";
import type { Gateway, OperationGateway } from "../../../src/supervisor/gateway/gateway-client.ts";
import type { Exchange } from "../../../src/supervisor/gateway/http-connections.ts";
import { readOrderLookup } from "../../../src/supervisor/gateway/lookup.ts";
import { orderAskedFor } from "../../../src/supervisor/gateway/order-request.ts";
import { supervisorConditionWatch } from "../../../src/supervisor/intake/supervisor-status.ts";
import type { TestClock } from "../../support/clocks/test-clock.ts";
import { noOrderBody, resultBody } from "../recording-gateway.ts";
import { sampleTransaction } from "../sample-transaction.ts";
import { openRig } from "../supervisor-rig.ts";

/** How the gateway answers while it fails. */
export interface Outage {
  readonly answer: Exchange;
  readonly takesMs: number;
  /** It carries orders out all the same. */
  readonly commits: boolean;
  /** The lookup's answer; left out: the one that an order gets. */
  readonly lookup?: (transactionId: string, orderId: string) => Exchange;
}

export const answered = (httpStatus: number, body = ""): Exchange => ({
  kind: "answered",
  httpStatus,
  retryAfter: null,
  body,
});
const good = answered(200, resultBody(0));
export const absent = (): Exchange => answered(404, noOrderBody);
export const orderOf = (orderId: string, custom_data: object | null): Exchange =>
  answered(200, JSON.stringify({ id: orderId, amount: "8.99", currency: "EUR", custom_data }));

/** A gateway without a network that fails as long as `troubled` says so, and counts. */
class TroubledGateway implements Gateway, OperationGateway {
  readonly sends = new Map<string, number>();
  readonly lookups = new Map<string, number>();
  readonly atGateway = new Map<string, number>();
  readonly #clock: TestClock;
  readonly #outage: Outage;
  readonly #troubled: () => boolean;

  constructor(clock: TestClock, outage: Outage, troubled: () => boolean) {
    this.#clock = clock;
    this.#outage = outage;
    this.#troubled = troubled;
  }

  ready = () => Promise.resolve();
  close = () => {};
  operate = () => Promise.reject(new Error("no operation is asked for here"));
  lookUp = () => Promise.reject(new Error("no transaction is looked up here"));

  generate: Gateway["generate"] = async (transaction) => {
    const { transactionId } = transaction;
    count(this.sends, transactionId);
    const { answer, takesMs, commits } = this.#outage;
    const failing = this.#troubled();
    if (!failing || commits) count(this.atGateway, transactionId);
    await sleep(this.#clock, "gateway answer", failing ? takesMs : 20);
    const asked = orderAskedFor(transaction);
    return { verdict: judge("generate", failing ? answer : good, asked), notes: [] };
  };

  findOrder: Gateway["findOrder"] = async (transaction) => {
    const { transactionId, orderId } = transaction;
    count(this.lookups, transactionId);
    const { answer, takesMs, lookup = () => answer } = this.#outage;
    const failing = this.#troubled();
    await sleep(this.#clock, "gateway answer", failing ? takesMs : 20);
    const known = () =>
      this.atGateway.has(transactionId) ? orderOf(orderId, { transactionId }) : absent();
    return readOrderLookup(failing ? lookup(transactionId, orderId) : known(), transaction);
  };
}

function count(counts: Map<string, number>, id: string): void {
  counts.set(id, (counts.get(id) ?? 0) + 1);
}

export const most = (counts: ReadonlyMap<string, number>) => Math.max(0, ...counts.values());
export const sum = (counts: ReadonlyMap<string, number>) =>
  [...counts.values()].reduce((all, one) => all + one, 0);

/** The supervisor's parts before such a gateway, with so many orders. */
export async function openTroubled(
  clock: TestClock,
  given: { outage: Outage; outageMs: number; orders: number },
) {
  const troubled = () => clock.monotonicMs() < given.outageMs;
  const gateway = new TroubledGateway(clock, given.outage, troubled);
  const rig = await openRig({ clock, gateway });
  rig.database.exec("PRAGMA synchronous = OFF"); // the disk is not what is measured here
  for (let i = 0; i < given.orders; i++) {
    rig.store.add(sampleTransaction({ orderId: `order ${i}` }), clock.now());
  }
  rig.forwarder.start();
  /** Lets the supervisor check for its conditions, as main.ts does. */
  const watch = (): void => {
    const { status, alarmStore, tally, log } = rig;
    const own = supervisorConditionWatch(status, alarmStore, tally, rig.clock, log);
    onTestFinished(() => own.close());
    own.start();
  };
  /** Alarms about the one order that has most of them, and those about the installation. */
  const alarms = () => {
    const about = new Map<string, number>();
    const others: string[] = [];
    for (const { alarm, orderId } of rig.alarmStore.after(undefined, 0, 1_000).alarms) {
      if (orderId === null) others.push(alarm);
      else count(about, orderId);
    }
    return { ofOneOrder: most(about), ofAllOrders: sum(about), others };
  };
  return { rig, gateway, alarms, watch };
}
