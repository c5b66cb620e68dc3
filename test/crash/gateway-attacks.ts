import { until } from "../support/programs/child-program.ts";
import type { Answer } from "../support/programs/installation.ts";
import type { Attack, AttackResult } from "./attack.ts";
import type { CrashSite } from "./crash-site.ts";
import type { gatewayKinds, KillPlan } from "./kill-plan.ts";

/** An order as the sandbox shows it. */
interface GatewayOrder {
  readonly transactionPublicId: string;
  readonly merchantReference: string;
  readonly manualCapture: boolean;
  readonly state: string;
  readonly capturedAmount: string;
  readonly refundedAmount: string;
}

/** So many parts are the whole amount. */
const PARTS = 2;

/** Its answers say that nothing was carried out. */
const refusals = ["GATEWAY_REFUSED", "GATEWAY_NOT_SENT", "GATEWAY_OPERATION_OPEN"];

/**
 * Confirm, cancel or refund of an order that the gateway has: carried out once at most, and
 * answered truly. What stays unknown is settled by a lookup, or by an operator who knows the truth.
 */
export class GatewayAttack implements Attack {
  readonly orderId: string;
  readonly #site: CrashSite;
  readonly #plan: KillPlan;
  readonly #kind: (typeof gatewayKinds)[number];
  readonly #answers: Answer[] = [];
  #asked = 0;
  #amountMinor = 0;
  #movements = 0;
  #id = "";
  #status = "never begun";

  constructor(site: CrashSite, plan: KillPlan, kind: (typeof gatewayKinds)[number]) {
    this.#site = site;
    this.#plan = plan;
    this.#kind = kind;
    this.orderId = `order-${plan.index}`;
  }

  async prepare(): Promise<void> {
    this.#amountMinor = await this.#site.charged(this.orderId);
    // More than one where the terminal took a sale back that got no ACK in time.
    this.#movements = (await this.#site.movementsOf(this.#amountMinor)).length;
    const first = await until("the gateway has the order", async () => (await this.#mine())[0]);
    if (this.#kind === "refund") this.#id = first.transactionPublicId;
    else this.#id = await this.#authorised(first);
    await this.#site.post(`${this.#site.at.sandboxUrl}/sandbox/orders/${this.#id}/pay`, {});
  }

  async ask(): Promise<void> {
    this.#asked += 1;
    const part = this.#isPart ? { amount: this.#amountMinor / PARTS / 100 } : {};
    const key = this.#plan.index % 2 === 0 ? { idempotencyKey: this.orderId } : {};
    const body = { transactionPublicId: this.#id, ...part, ...key };
    const path = `/gateway/${this.#kind}`;
    const answer = await this.#site.asOperator("POST", path, body).catch(() => undefined);
    if (answer) this.#answers.push(answer);
  }

  async settle(): Promise<{ mayRepeat: boolean }> {
    this.#status = (await this.#found()) ?? "not answered";
    if (this.#status === "Unknown" || (await this.#isOpen())) await this.#settleTruly();
    this.#status = (await this.#found()) ?? "not answered";
    return { mayRepeat: this.#status === "Success" };
  }

  async verdict(): Promise<AttackResult> {
    const done = await this.#timesDone();
    const answeredDone = this.#answers.filter(({ one }) => one.status === "Success").length;
    const answeredNot = this.#answers.filter(({ one }) => refusals.includes(one.error?.code ?? ""));
    const returned = this.#kind !== "confirm" && done >= (this.#isPart ? PARTS : 1);
    const movements = await this.#site.movementsOf(this.#amountMinor);
    const falseNo = this.#answers.filter(({ one }) => one.error?.charged === "no" && !returned);
    const broken: Array<[boolean, string]> = [
      [done > 1, "the gateway carries an operation out once"],
      [answeredDone > 0 && done === 0, "an operation answered done is done"],
      [
        done > 0 && answeredNot.length === this.#asked,
        "an operation answered not carried out is not carried out",
      ],
      [falseNo.length > 0, "an order answered not-charged is not charged"],
      [returned && this.#status !== "Reversed", "a returned order is answered as returned"],
      [!returned && this.#status !== "Success", "a charged order is answered as charged"],
      [movements.length !== this.#movements, "no card is moved for the gateway"],
    ];
    const answered = this.#answers.map(({ one }) => one.error?.code ?? one.status).join();
    const facts = `done ${done} times, answered ${answered || "nothing"}, journal ${this.#status}`;
    return {
      end: this.#status,
      violations: broken.filter(([is]) => is).map(([, sentence]) => `${sentence} (${facts})`),
      detail: { plan: this.#plan, orders: await this.#mine(), movements },
      atGatewayMinor: this.#amountMinor,
    };
  }

  get #isPart(): boolean {
    return this.#kind === "refund" && this.#plan.share !== "all";
  }

  async #found(): Promise<string | undefined> {
    return await until("the order is answered", async () => {
      const path = `/payment/${this.orderId}`;
      const answer = await this.#site.at.call("GET", path).catch(() => undefined);
      return answer?.one.status;
    });
  }

  /** The order is charged, with a warning that the end of its return is not known. */
  async #isOpen(): Promise<boolean> {
    return await until("the order's warnings are known", async () => {
      const answer = await this.#site.at.call("GET", `/payment/${this.orderId}`).catch(() => null);
      const answered = answer?.one as { status: string; warnings?: readonly string[] } | undefined;
      return (
        answered && { open: answered.status === "Success" && (answered.warnings ?? []).length > 0 }
      );
    }).then(({ open }) => open);
  }

  /** A lookup can show that it was carried out; else an operator says what the merchant sees. */
  async #settleTruly(): Promise<void> {
    await this.#site.asOperator("GET", `/gateway/transaction/${this.#id}`);
    if ((await this.#found()) !== "Unknown" && !(await this.#isOpen())) return;
    const happened = (await this.#timesDone()) > 0;
    const note = "seen in the merchant account";
    const body = { transactionPublicId: this.#id, happened, note };
    await this.#site.asOperator("POST", "/gateway/settle", body);
  }

  async #timesDone(): Promise<number> {
    const order = (await this.#mine()).find(({ transactionPublicId: id }) => id === this.#id);
    switch (this.#kind) {
      case "confirm":
        return Number(order?.state === "captured");
      case "cancel":
        return Number(order?.state === "cancelled");
      case "refund": {
        const wantedMinor = this.#isPart ? this.#amountMinor / PARTS : this.#amountMinor;
        return Math.round((Number(order?.refundedAmount ?? 0) * 100) / wantedMinor);
      }
    }
  }

  async #mine(): Promise<readonly GatewayOrder[]> {
    const all = (await this.#site.at.orders()) as unknown as GatewayOrder[];
    return all.filter(({ merchantReference }) => merchantReference === this.orderId);
  }

  /** The merchant's other system places the order once more, for manual capture. */
  async #authorised({ transactionPublicId }: GatewayOrder): Promise<string> {
    const orders = (await this.#site.at.orders()) as unknown as Array<{
      readonly transactionPublicId: string;
      readonly freeData: Readonly<Record<string, string>>;
    }>;
    const ours = orders.find((order) => order.transactionPublicId === transactionPublicId);
    await this.#site.orderForManualCapture(
      this.orderId,
      this.#amountMinor,
      ours?.freeData["transactionId"] ?? "",
    );
    const placed = (await this.#mine()).find(({ manualCapture }) => manualCapture);
    if (!placed) throw new Error("the sandbox has not taken the order for manual capture");
    return placed.transactionPublicId;
  }
}
