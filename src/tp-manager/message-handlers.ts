import type {
  Handlers,
  ResponseOf,
  ServedPage,
  tpManagerMessages,
} from "../shared/ipc/contract.ts";
import { versionNumber } from "../shared/program/installation.ts";
import type { TerminalWatch } from "./http/events/terminal-watch.ts";
import { openPayments, ownConditions, type Watched } from "./http/status/facts.ts";
import type { Metrics } from "./http/status/metrics.ts";
import { textOfSale } from "./supervisor/store-guard.ts";
import type { TerminalState } from "./terminal/terminal.ts";

type Status = ResponseOf<typeof tpManagerMessages, "status">;

interface HandlerParts
  extends Pick<Watched, "journal" | "handOff" | "clock" | "arbiter" | "guard"> {
  readonly port: number;
  readonly pages: readonly ServedPage[];
  readonly watch: TerminalWatch;
  readonly metrics: Pick<Metrics, "figures">;
  readonly startedAfter: string;
  readonly matcher: {
    takenForGranted(terminal: TerminalState): Pick<Status["terminal"], "assumptions" | "shown">;
  };
  readonly requestStop: (why: string) => void;
}

/** Returns the answers to the other programs of the installation (docs/design.md 7.2). */
export function tpManagerHandlers(parts: HandlerParts): Handlers<typeof tpManagerMessages> {
  const { port, pages, watch, journal, arbiter, guard, requestStop } = parts;
  const { inquiries } = arbiter;
  const { events, resync } = journal;
  const payments = () => ({
    running: arbiter.lease.current === undefined ? 0 : 1,
    ...openPayments(journal),
  });
  const run = () => ({ version: versionNumber, uptimeMs: process.uptime() * 1000 });
  return {
    status() {
      const { state } = arbiter.terminal;
      const { link, linkProblem, identity, status } = state;
      return {
        program: "tp-manager",
        ...run(),
        pid: process.pid,
        port,
        pages: [...pages],
        terminal: {
          link,
          problem: linkProblem,
          terminalId: identity.terminalId,
          status: status?.detail ?? link,
          sinceMs: Date.parse(watch.now.since),
          otherRegister: arbiter.oneWay?.learned.refuted("echoes-register") === true,
          ...parts.matcher.takenForGranted(state),
        },
        payments: { ...payments(), asking: inquiries.isAsking, askedUntilMs: inquiries.untilMs() },
        ...ownConditions(parts),
      };
    },
    async "fleet-news"({ after, limit, figures }) {
      const { lastId } = events;
      const { link, state, since, terminalId } = watch.now;
      const newer = after === null || after > lastId ? [] : events.after(after, limit);
      return {
        terminal: { link, state, since, terminalId },
        payments: payments(),
        troubles: ownConditions(parts),
        ...run(),
        startedAfter: parts.startedAfter,
        figures: figures ? await parts.metrics.figures() : undefined,
        lastId,
        events: newer.map(({ id, atMs, name, data }) => ({ id, atMs, name, data })),
      };
    },
    stores({ accept }) {
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
        handingAgain: resync.isUnderWay,
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
