import { versionNumber } from "../shared/installation.ts";
import type { Handlers, tpManagerMessages } from "../shared/ipc/contract.ts";
import type { AttemptStore } from "./attempts/attempt-store.ts";
import type { HandOffStore } from "./attempts/hand-off-store.ts";
import type { PaymentService } from "./orders/payment-service.ts";
import type { Terminal } from "./terminal/terminal.ts";

export interface HandlerParts {
  readonly port: number;
  readonly attempts: Pick<AttemptStore, "unfinished">;
  readonly handOffs: Pick<HandOffStore, "countPendingHandOffs">;
  readonly payments: PaymentService;
  readonly terminal: Terminal;
  readonly requestStop: (why: string) => void;
}

/** What tp-manager answers to the other programs of its installation (docs/design.md 7.2). */
export function tpManagerHandlers(parts: HandlerParts): Handlers<typeof tpManagerMessages> {
  const { port, attempts, handOffs, payments, terminal, requestStop } = parts;
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
          running: payments.turn.current === undefined ? 0 : 1,
          inDoubt: attempts.unfinished().filter(({ state }) => state.phase.endsWith("in-doubt"))
            .length,
          notHandedOver: handOffs.countPendingHandOffs(),
        },
      };
    },
    stop() {
      payments.turn.close();
      requestStop("local message");
      return { stopping: true };
    },
  };
}
