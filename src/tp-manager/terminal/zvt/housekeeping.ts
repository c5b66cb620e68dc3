import type { Demand } from "../../../zvt/tables/demands.ts";
import { coded, codeOf, isGoodCompletion } from "../../../zvt/tables/result-codes.ts";
import { type Command, diagnosis, initialisation, setDateTime } from "./commands/commands.ts";
import type { RunCommand } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import type { ZvtContext } from "./zvt-options.ts";

interface Tries {
  readonly count: number;
  readonly notBeforeMs: number;
  /** Outcomes after which the job was already repeated at once; each counts only once. */
  readonly excused: readonly ("lost" | "met")[];
}

/**
 * Carries out maintenance that the terminal demands: initialisation, diagnosis, clock (docs/zvt.md
 * 11.5). A demanded end of day is only reported: no sale can be reversed after it, so tp-manager
 * decides about it (docs/rules/07-returns.md). A job that fails, or whose demand remains, is
 * repeated after a growing pause. It is repeated at once the first time that its command is lost,
 * which says nothing about the job, and the first time that the demand remains after success,
 * because it may be a new demand.
 */
export class Housekeeping {
  readonly #zvt: Omit<ZvtContext, "transport">;
  #tries = new Map<Demand, Tries>();

  constructor(zvt: Omit<ZvtContext, "transport">) {
    this.#zvt = zvt;
  }

  /** Resets the attempts at maintenance that the terminal no longer demands. */
  learn(demands: readonly Demand[]): void {
    this.#tries = new Map([...this.#tries].filter(([demand]) => demands.includes(demand)));
  }

  due(demands: readonly Demand[]): Demand | undefined {
    const nowMs = this.#zvt.clock.monotonicMs();
    return demands.find(
      (demand) =>
        this.#command(demand) !== undefined &&
        nowMs >= (this.#tries.get(demand)?.notBeforeMs ?? nowMs),
    );
  }

  async meet(demand: Demand, run: RunCommand): Promise<void> {
    const { clock, log, emit } = this.#zvt;
    const command = this.#command(demand);
    if (!command) return;
    const beganMs = clock.monotonicMs();
    log.info({ demand }, "maintenance that the terminal demands has begun");
    const end = await run(command);
    const problem = this.#problemOf(end);
    const how = end.end === "lost" ? "lost" : problem === null ? "met" : "failed";
    if (end.end !== "not-sent") this.#tried(demand, how, beganMs);
    if (problem === null) log.info({ demand }, "maintenance that the terminal demanded is done");
    else log.warn({ demand, problem }, "maintenance that the terminal demanded has failed");
    emit({ type: "housekeeping", job: demand, problem });
  }

  #tried(demand: Demand, how: "lost" | "met" | "failed", beganMs: number): void {
    const { minMs, maxMs } = this.#zvt.options.housekeepingPause;
    const { count = 0, excused = [] } = this.#tries.get(demand) ?? {};
    if (how !== "failed" && !excused.includes(how)) {
      this.#tries.set(demand, { count: 0, notBeforeMs: beganMs, excused: [...excused, how] });
      return;
    }
    const pauseMs = Math.min(minMs * 2 ** Math.min(count, 16), maxMs);
    this.#tries.set(demand, { count: count + 1, notBeforeMs: beganMs + pauseMs, excused });
  }

  #command(demand: Demand): Command | undefined {
    const { password } = this.#zvt.options;
    switch (demand) {
      case "initialisation":
        return initialisation(password);
      case "diagnosis":
        return diagnosis("extended");
      case "configuration-diagnosis":
        return diagnosis("configuration");
      case "emv-diagnosis":
        return diagnosis("emv");
      case "clock":
        return setDateTime(password, this.#zvt.clock.now());
      case "end-of-day":
        return undefined;
    }
  }

  #problemOf(end: ExchangeEnd): string | null {
    if (end.end === "lost" || end.end === "not-sent") return end.problem;
    const code = end.message.fields.resultCode ?? 0;
    if (end.end === "completed" && isGoodCompletion(code)) return null;
    const failed = end.end === "completed" ? code : codeOf(end.message);
    const { code: named, text } = coded(failed, this.#zvt.options.language);
    return `${named} ${text}`;
  }
}
