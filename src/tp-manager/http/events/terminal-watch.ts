import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../shared/time.ts";
import type { Announce, EventData } from "../../attempts/event-table.ts";
import type { TerminalFacts, TerminalState } from "../../terminal/terminal.ts";

type TerminalSituation = Omit<EventData<"terminal">, "since">;

const stateNames = { "0": "ready", "1": "busy", "2": "action-needed", "9": "no-link" } as const;

/**
 * Remembers since when the terminal is in its state, and announces every change. A lost link counts
 * as lost since the loss, no matter how many attempts to connect have failed since.
 */
export class TerminalWatch {
  readonly #terminal: TerminalFacts;
  readonly #clock: Clock;
  readonly #announce: Announce;
  readonly close: () => void;
  readonly faults = { linksLost: 0, protocolFaults: 0 };
  #condition: TerminalSituation;
  #sinceMs: number;

  constructor(terminal: TerminalFacts, clock: Clock, announce: Announce) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#announce = announce;
    this.#condition = conditionOf(terminal.state);
    this.#sinceMs = clock.now();
    this.close = terminal.subscribe((event) => {
      if (event.type === "protocol") this.faults.protocolFaults += 1;
      this.#compare();
    });
  }

  get now(): EventData<"terminal"> {
    this.#compare();
    return this.#announced;
  }

  get #announced(): EventData<"terminal"> {
    return { ...this.#condition, since: new Date(this.#sinceMs).toISOString() };
  }

  #compare(): void {
    const condition = conditionOf(this.#terminal.state);
    if (isDeepStrictEqual(condition, this.#condition)) return;
    const [wasUp, isUp] = [this.#condition, condition].map(({ link }) => link === "connected");
    if (wasUp && !isUp) this.faults.linksLost += 1;
    this.#condition = condition;
    if (wasUp || isUp) this.#sinceMs = this.#clock.now();
    this.#announce({ name: "terminal", data: this.#announced });
  }
}

function conditionOf({ link, linkProblem, status, identity }: TerminalState): TerminalSituation {
  const up = link === "connected";
  return {
    link,
    problem: up ? null : linkProblem,
    state: up ? (status ? stateNames[status.cr] : "not-known") : "no-link",
    detail: (up ? status?.detail : linkProblem) ?? "",
    terminalId: identity.terminalId,
    serialNumber: identity.serialNumber,
  };
}
