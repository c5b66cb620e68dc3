import { versionNumber } from "../shared/installation.ts";
import type { Handlers, tpManagerMessages } from "../shared/ipc/contract.ts";
import type { AttemptStore } from "./attempts/attempt-store.ts";
import type { AgainStore } from "./attempts/hand-off-store.ts";
import { isInDoubt } from "./attempts/phase-table.ts";
import type { TerminalDesk } from "./desk/terminal-desk.ts";
import type { Monitor } from "./http/status/monitor.ts";
import { type OwnTroubleParts, ownTroubles } from "./http/status/own-troubles.ts";
import { type StoreGuard, saleInWords } from "./supervisor/store-guard.ts";

interface HandlerParts extends OwnTroubleParts {
  readonly monitor: Pick<Monitor, "readiness" | "hub">;
  readonly port: number;
  readonly attempts: Pick<AttemptStore, "unfinished">;
  readonly desk: Pick<TerminalDesk, "turn" | "terminal" | "isAsking">;
  readonly guard: Pick<StoreGuard, "open" | "accept">;
  readonly again: Pick<AgainStore, "isUnderWay">;
  readonly requestStop: (why: string) => void;
}

/** The answers of tp-manager to the other programs of its installation (docs/design.md 7.2). */
export function tpManagerHandlers(parts: HandlerParts): Handlers<typeof tpManagerMessages> {
  const { port, attempts, handOffs, desk, requestStop } = parts;
  return {
    status() {
      const { link, linkProblem, identity, status } = desk.terminal.state;
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
          inDoubt: attempts.unfinished().filter(({ state }) => isInDoubt(state)).length,
          notHandedOver: handOffs.countPendingHandOffs(),
          asking: desk.isAsking,
        },
        ...ownTroubles(parts),
      };
    },
    "fleet-news"({ after, limit }) {
      const { source } = parts.monitor.hub;
      const { lastId } = source;
      const events = after === null || after > lastId ? [] : source.after(after, limit);
      return {
        ...parts.monitor.readiness(),
        version: versionNumber,
        uptimeMs: process.uptime() * 1000,
        lastId,
        events: events.map(({ id, atMs, name, data }) => ({ id, atMs, name, data })),
      };
    },
    stores({ accept }) {
      const { guard, again } = parts;
      const ended = accept && guard.accept();
      const { open } = guard;
      return {
        doubt: open
          ? {
              sinceMs: open.sinceMs,
              because: open.because,
              takenOver: open.isTakenOver,
              unmatched: open.unmatched.map(saleInWords),
            }
          : null,
        handingAgain: again.isUnderWay,
        ended,
      };
    },
    stop() {
      desk.turn.close();
      requestStop("local message");
      return { stopping: true };
    },
  };
}
