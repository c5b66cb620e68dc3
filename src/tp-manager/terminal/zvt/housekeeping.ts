import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { Demand } from "../../../zvt/tables/demands.ts";
import {
  codeOf,
  codeText,
  isGoodCompletion,
  resultText,
} from "../../../zvt/tables/result-codes.ts";
import type { TerminalEvent } from "../terminal.ts";
import { type Command, diagnosis, initialisation, setDateTime } from "./commands/commands.ts";
import type { RunCommand } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import type { ZvtOptions } from "./zvt-options.ts";

interface Tries {
  readonly count: number;
  readonly notBeforeMs: number;
  /** Ends of a try after which the demand was met again at once; each excuses only once. */
  readonly excused: ReadonlyArray<"lost" | "met">;
}

/**
 * Meets the terminal's demands without people (docs/zvt.md 11.5): initialisation, diagnosis, clock.
 * An end of day is only reported, because no sale can be reversed after it: tp-manager decides
 * (docs/rules/07-returns.md).
 *
 * A demand that stays after its cure, or whose cure fails, is met again after a growing pause. The
 * first time that the link was lost it is met again at once, because that says nothing about the
 * cure; the first time that it stands after a good cure too, because the terminal may have raised
 * it anew before it was asked. A command that did not leave is no try.
 */
export class Housekeeping {
  readonly #options: ZvtOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #emit: (event: TerminalEvent) => void;
  readonly #tries = new Map<Demand, Tries>();

  constructor(
    options: ZvtOptions,
    clock: Clock,
    log: Logger,
    emit: (event: TerminalEvent) => void,
  ) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
    this.#emit = emit;
  }

  /** A demand that the terminal no longer has is met without a pause when it comes again. */
  learn(demands: readonly Demand[]): void {
    for (const demand of [...this.#tries.keys()]) {
      if (!demands.includes(demand)) this.#tries.delete(demand);
    }
  }

  /** The next demand to meet now. */
  due(demands: readonly Demand[]): Demand | undefined {
    const nowMs = this.#clock.monotonicMs();
    return demands.find(
      (demand) =>
        this.#command(demand) !== undefined &&
        nowMs >= (this.#tries.get(demand)?.notBeforeMs ?? nowMs),
    );
  }

  async meet(demand: Demand, run: RunCommand): Promise<void> {
    const command = this.#command(demand);
    if (!command) return;
    const before = this.#tries.get(demand);
    this.#tried(demand);
    this.#log.info({ demand }, "a job that the terminal demands is begun");
    const end = await run(command);
    const problem = this.#problemOf(end);
    if (end.end === "not-sent" && before) this.#tries.set(demand, before);
    else if (end.end === "not-sent") this.#tries.delete(demand);
    else if (end.end === "lost") this.#excuse(demand, "lost");
    else if (problem === null) this.#excuse(demand, "met");
    if (problem === null) this.#log.info({ demand }, "the terminal's demand is met");
    else this.#log.warn({ demand, problem }, "the terminal's demand could not be met");
    this.#emit({ type: "housekeeping", job: demand, problem });
  }

  #tried(demand: Demand): void {
    const { minMs, maxMs } = this.#options.housekeepingPause;
    const { count: before = 0, excused = [] } = this.#tries.get(demand) ?? {};
    const pauseMs = Math.min(minMs * 2 ** Math.min(before, 16), maxMs);
    const notBeforeMs = this.#clock.monotonicMs() + pauseMs;
    this.#tries.set(demand, { count: before + 1, notBeforeMs, excused });
  }

  /** No pause, the first time that a try ends so. */
  #excuse(demand: Demand, how: "lost" | "met"): void {
    const { excused = [] } = this.#tries.get(demand) ?? {};
    if (excused.includes(how)) return;
    const notBeforeMs = this.#clock.monotonicMs();
    this.#tries.set(demand, { count: 0, notBeforeMs, excused: [...excused, how] });
  }

  #command(demand: Demand): Command | undefined {
    const { password } = this.#options;
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
        return setDateTime(password, this.#clock.now());
      case "end-of-day":
        return undefined;
    }
  }

  #problemOf(end: ExchangeEnd): string | null {
    if (end.end === "lost" || end.end === "not-sent") return end.problem;
    const code = end.message.fields.resultCode ?? 0;
    if (end.end === "completed" && isGoodCompletion(code)) return null;
    const refused = end.end === "completed" ? code : codeOf(end.message);
    return `${codeText(refused)} ${resultText(refused, this.#options.language)}`;
  }
}
