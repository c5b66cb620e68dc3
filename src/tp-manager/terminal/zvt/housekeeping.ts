import type { Demand } from "../../../zvt/tables/demands.ts";
import { codeText, isGoodCompletion, resultText } from "../../../zvt/tables/result-codes.ts";
import type { TerminalEvent } from "../terminal.ts";
import type { Command } from "./commands/command.ts";
import { diagnosis, initialisation, setDateTime } from "./commands/upkeep.ts";
import { codeOf, type RunCommand } from "./introduction.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import type { ZvtDependencies, ZvtOptions } from "./zvt-options.ts";

interface Tries {
  readonly count: number;
  readonly notBeforeMs: number;
  /** One of them was cut off by a lost link. */
  readonly cutOff: boolean;
}

/**
 * Meets the terminal's demands without people (docs/zvt.md 11.5): initialisation, diagnosis, clock.
 * The end of day is not among them: sales can no longer be reversed afterwards, so it is only told,
 * and tp-manager decides (docs/design.md 3.7).
 *
 * A demand that stays after its cure, or whose cure fails, is met again after a growing pause. A
 * link that is lost says nothing about the cure, so the first time the demand is met again at once.
 */
export class Housekeeping {
  readonly #options: ZvtOptions;
  readonly #deps: ZvtDependencies;
  readonly #emit: (event: TerminalEvent) => void;
  readonly #tries = new Map<Demand, Tries>();

  constructor(
    options: ZvtOptions,
    dependencies: ZvtDependencies,
    emit: (event: TerminalEvent) => void,
  ) {
    this.#options = options;
    this.#deps = dependencies;
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
    const nowMs = this.#deps.clock.monotonicMs();
    return demands.find(
      (demand) =>
        this.#command(demand) !== undefined &&
        nowMs >= (this.#tries.get(demand)?.notBeforeMs ?? nowMs),
    );
  }

  async meet(demand: Demand, run: RunCommand): Promise<void> {
    const command = this.#command(demand);
    if (!command) return;
    this.#tried(demand);
    this.#deps.log.info({ demand }, "the terminal demands it: begun");
    const end = await run(command);
    if (end.end === "lost") this.#lost(demand);
    const problem = this.#problemOf(end);
    if (problem === null) this.#deps.log.info({ demand }, "the terminal's demand is met");
    else this.#deps.log.warn({ demand, problem }, "the terminal's demand could not be met");
    this.#emit({ type: "housekeeping", job: demand, problem });
  }

  #tried(demand: Demand): void {
    const { minMs, maxMs } = this.#options.housekeepingPause;
    const { count: before = 0, cutOff = false } = this.#tries.get(demand) ?? {};
    const pauseMs = Math.min(minMs * 2 ** Math.min(before, 16), maxMs);
    const notBeforeMs = this.#deps.clock.monotonicMs() + pauseMs;
    this.#tries.set(demand, { count: before + 1, notBeforeMs, cutOff });
  }

  #lost(demand: Demand): void {
    if (this.#tries.get(demand)?.cutOff) return;
    const notBeforeMs = this.#deps.clock.monotonicMs();
    this.#tries.set(demand, { count: 0, notBeforeMs, cutOff: true });
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
        return setDateTime(password, this.#deps.clock.now());
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
