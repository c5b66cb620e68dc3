import type {
  Handlers,
  ResponseOf,
  ServedPage,
  tpManagerMessages,
} from "../shared/ipc/contract.ts";
import { versionNumber } from "../shared/process/installation.ts";
import type { TerminalArbiter } from "./arbiter/terminal-arbiter.ts";
import { isInDoubt } from "./attempts/phase-table.ts";
import type { EventSource } from "./http/events/event-hub.ts";
import type { TerminalWatch } from "./http/events/terminal-watch.ts";
import { type OwnTroubleParts, ownConditions } from "./http/status/facts.ts";
import type { AttemptRows } from "./journal/attempt-rows.ts";
import type { AgainRows } from "./journal/hand-offs/again-rows.ts";
import { type StoreGuard, textOfSale } from "./supervisor/store-guard.ts";
import type { TerminalState } from "./terminal/terminal.ts";

type Status = ResponseOf<typeof tpManagerMessages, "status">;

interface HandlerParts extends OwnTroubleParts {
  readonly events: Pick<EventSource, "after" | "lastId">;
  readonly port: number;
  readonly pages: readonly ServedPage[];
  readonly watch: Pick<TerminalWatch, "now">;
  readonly attempts: Pick<AttemptRows, "unfinished">;
  readonly arbiter: OwnTroubleParts["arbiter"] &
    Pick<TerminalArbiter, "lease" | "terminal" | "isAsking" | "learned">;
  readonly matcher: {
    takenForGranted(terminal: TerminalState): Pick<Status["terminal"], "assumptions" | "shown">;
  };
  readonly guard: Pick<StoreGuard, "open" | "accept">;
  readonly again: Pick<AgainRows, "isUnderWay">;
  readonly requestStop: (why: string) => void;
}

/** The answers of tp-manager to the other programs of its installation (docs/design.md 7.2). */
export function tpManagerHandlers(parts: HandlerParts): Handlers<typeof tpManagerMessages> {
  const { port, pages, watch, attempts, handOffs, arbiter, requestStop } = parts;
  const payments = () => ({
    running: arbiter.lease.current === undefined ? 0 : 1,
    inDoubt: attempts.unfinished().filter(({ state }) => isInDoubt(state)).length,
    notHandedOver: handOffs.countPendingHandOffs(),
  });
  return {
    status() {
      const { state } = arbiter.terminal;
      const { link, linkProblem, identity, status } = state;
      return {
        program: "tp-manager",
        version: versionNumber,
        pid: process.pid,
        uptimeMs: process.uptime() * 1000,
        port,
        pages: [...pages],
        terminal: {
          link,
          problem: linkProblem,
          terminalId: identity.terminalId,
          status: status?.detail ?? link,
          sinceMs: Date.parse(watch.now.since),
          otherRegister: arbiter.learned.refuted("echoes-register"),
          ...parts.matcher.takenForGranted(state),
        },
        payments: { ...payments(), asking: arbiter.isAsking },
        ...ownConditions(parts),
      };
    },
    "fleet-news"({ after, limit }) {
      const { lastId } = parts.events;
      const { link, state, since, terminalId } = watch.now;
      const events = after === null || after > lastId ? [] : parts.events.after(after, limit);
      return {
        terminal: { link, state, since, terminalId },
        payments: payments(),
        troubles: ownConditions(parts),
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
              takenOver: open.isImported,
              ofNoOrder: open.ofNoOrder.map(textOfSale),
            }
          : null,
        handingAgain: again.isUnderWay,
        ended,
      };
    },
    stop() {
      arbiter.lease.close();
      requestStop("local message");
      return { stopping: true };
    },
  };
}
