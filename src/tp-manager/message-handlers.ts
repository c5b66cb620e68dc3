import { versionNumber } from "../shared/installation.ts";
import type { Handlers, tpManagerMessages } from "../shared/ipc/contract.ts";
import type { TurnView } from "./desk/terminal-turn.ts";
import type { Journal } from "./journal/journal.ts";
import type { TerminalView } from "./terminal/terminal.ts";

export interface HandlerParts {
  readonly port: number;
  readonly journal: Journal;
  readonly desk: { readonly turn: Pick<TurnView, "current" | "close"> };
  readonly terminal: TerminalView;
  readonly requestStop: (why: string) => void;
}

/** What tp-manager answers to the other programs of its installation (DESIGN 7). */
export function tpManagerHandlers(parts: HandlerParts): Handlers<typeof tpManagerMessages> {
  const { port, journal, desk, terminal, requestStop } = parts;
  return {
    status() {
      const { link, linkProblem, identity, status } = terminal.state;
      return {
        program: "tp-manager",
        version: versionNumber,
        pid: process.pid,
        uptimeMs: process.uptime() * 1000,
        port,
        terminal: {
          link,
          problem: linkProblem,
          terminalId: identity.terminalId,
          status: status?.detail ?? link,
        },
        payments: {
          running: desk.turn.current === undefined ? 0 : 1,
          inDoubt: journal.unfinished().filter(({ state }) => state.phase.endsWith("in-doubt"))
            .length,
          notHandedOver: journal.countPendingHandOffs(),
        },
      };
    },
    stop() {
      desk.turn.close();
      requestStop("local message");
      return { stopping: true };
    },
  };
}
