import type { FaultArguments } from "../../faults/fault-request.ts";
import { TerminalParts } from "../../terminal-parts.ts";
import type { FaultName } from "../faults/fault-table.ts";
import { type ConcertOptions, type Report, reports } from "../options.ts";

/** The parts that all requests of the terminal share. */
export class ConcertParts extends TerminalParts<ConcertOptions> {
  /** The arguments of a fault whose chance this is; the fault is thereby used. */
  fault(name: FaultName): FaultArguments | undefined {
    return this.faults.take(name, { command: undefined });
  }

  /** How the next reply shows its card number. */
  get report(): Report {
    const as = this.fault("report")?.["as"];
    return reports.find((one) => one === as) ?? this.options.behaviour.report;
  }

  /** Private data of the terminal's own, by a fault, as Latin-1 text. */
  get otherPrivate(): string | undefined {
    const given = this.fault("other-private");
    return given && Buffer.from(String(given["hex"]), "hex").toString("latin1");
  }
}
