import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { backup } from "node:sqlite";
import { openForReading } from "../../src/shared/store/sqlite.ts";
import { until } from "../support/programs/child-program.ts";
import type { Answer } from "../support/programs/installation.ts";
import type { Attack, AttackResult } from "./attack.ts";
import type { CrashSite } from "./crash-site.ts";
import type { KillPlan } from "./kill-plan.ts";

/** The order is known to the gateway alone, and the kiosk is answered so. */
const onlyAtGateway = ["STORES_DISAGREE", "TERMINAL_SALE_UNMATCHED"];

/**
 * `launch.sh restore` of one database or of both, after a sale that the copies lack. The sale stays
 * charged once, is at the gateway once and is never answered as not charged, whatever part of the
 * restore was done; the same command works afterwards.
 */
export class RestoreAttack implements Attack {
  readonly orderId: string;
  readonly #site: CrashSite;
  readonly #plan: KillPlan;
  readonly #answers: Answer[] = [];
  #amountMinor = 0;
  #movements = 0;
  #asked = false;
  #end = "never answered";

  constructor(site: CrashSite, plan: KillPlan) {
    this.#site = site;
    this.#plan = plan;
    this.orderId = `order-${plan.index}`;
  }

  /** Nightly copies, one sale since, and the programs are stopped. */
  async prepare(): Promise<void> {
    const { at } = this.#site;
    mkdirSync(join(at.data, "backup"), { recursive: true });
    for (const store of ["journal", "supervisor"]) {
      const database = openForReading(join(at.data, `${store}.db`));
      await backup(database, join(at.data, "backup", `${store}-2026-01-01.db`));
      database.close();
    }
    this.#amountMinor = await this.#site.charged(this.orderId);
    // What only a lost journal knew, nobody can know; of supervisor.db the journal knows all.
    if (this.#plan.share !== "part") {
      await until("the gateway has the order", async () => (await this.#sent()) > 0 || undefined);
    }
    this.#movements = (await this.#site.movementsOf(this.#amountMinor)).length;
    await this.#stop();
  }

  /** First the restore that is killed; later the kiosk, which asks for its order once more. */
  async ask(): Promise<void> {
    if (this.#asked) return void (await this.#repeat());
    this.#asked = true;
    const { moment, victim } = this.#plan;
    await this.#restore(moment.at === "change" ? moment.number : undefined);
    if (victim !== "both programs") return;
    // The start that finishes the restore is killed as well.
    const started = [this.#site.at.startTpManager(), this.#site.at.startSupervisor()];
    await Promise.race(started).catch(() => undefined);
    await this.#stop("SIGKILL");
    await Promise.allSettled(started);
  }

  async settle(): Promise<{ mayRepeat: boolean }> {
    const answered = async (): Promise<string | undefined> => {
      const one = (await this.#repeat())?.one;
      const code = one?.error?.code ?? "";
      // Before the other database has reported its orders, the order is in doubt.
      if (this.#plan.share === "all" && onlyAtGateway.includes(code)) return code;
      return one?.status === "Success" ? one.status : undefined;
    };
    const last = (): string => this.#answers.at(-1)?.one.error?.code ?? "nothing";
    this.#end = await until("the order is answered", answered).catch(
      () => `not answered, ${last()}`,
    );
    return { mayRepeat: true };
  }

  async verdict(): Promise<AttackResult> {
    const first = await this.#broken("");
    await this.#stop();
    const again = this.#restore();
    const exitCode = await again;
    await Promise.all([this.#site.at.startTpManager(), this.#site.at.startSupervisor()]);
    await this.settle();
    const second = await this.#broken("after a second restore: ");
    const refused = exitCode === 0 ? [] : [`a second restore works (exit code ${exitCode})`];
    // What the other attacks ask about must not be in doubt any more.
    await this.#site.launcher(["stores", "accept"]).exited;
    const violations = [...first, ...refused, ...second];
    const movements = await this.#site.movementsOf(this.#amountMinor);
    return {
      end: this.#end,
      violations,
      detail: { plan: this.#plan, movements, answers: this.#answers.map(({ one }) => one) },
      atGatewayMinor: this.#amountMinor,
    };
  }

  async #broken(when: string): Promise<string[]> {
    const movements = (await this.#site.movementsOf(this.#amountMinor)).length;
    const sent = await this.#sent();
    const denied = this.#answers.filter(({ one }) => one.error?.charged === "no");
    const broken: Array<[boolean, string]> = [
      [movements !== this.#movements, "no card is moved by a restore"],
      [denied.length > 0, "an order answered not-charged is not charged"],
      [sent > 1, "an order is sent to the gateway once"],
      [this.#end.startsWith("not answered"), "an order that a program here knows is answered"],
    ];
    const answered = this.#answers.map(({ one }) => one.error?.code ?? one.status);
    const answers = [...new Set(answered)].join();
    const facts = `moved ${movements}, sent ${sent}, ${this.#end}; ${answers}`;
    return broken.filter(([is]) => is).map(([, sentence]) => `${when}${sentence} (${facts})`);
  }

  async #repeat(): Promise<Answer | undefined> {
    const { at } = this.#site;
    const answer = await at.pay(this.#amountMinor / 100, this.orderId).catch(() => undefined);
    if (answer) this.#answers.push(answer);
    return answer;
  }

  async #sent(): Promise<number> {
    const orders = await this.#site.at.orders();
    return orders.filter(({ merchantReference }) => merchantReference === this.orderId).length;
  }

  #restore(changes?: number): Promise<number | null> {
    const store = { all: [], part: ["supervisor"], nothing: ["journal"], "no word": [] };
    return this.#site.launcher(["restore", ...store[this.#plan.share]], changes).exited;
  }

  async #stop(signal: NodeJS.Signals = this.#plan.luck % 2 ? "SIGKILL" : "SIGTERM"): Promise<void> {
    const { tpManager, supervisor } = this.#site.at;
    await Promise.all([tpManager?.end(signal), supervisor?.end(signal)]);
  }
}
