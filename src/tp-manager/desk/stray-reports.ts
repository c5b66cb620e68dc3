import { BrokenInvariant } from "../../shared/invariant.ts";
import type { Logger } from "../../shared/logger.ts";
import { currencyOf, formatMajor } from "../../shared/money.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import { type Look, sameReport } from "../attempts/recovery-policy.ts";
import { judgeStray, type Stray, type StrayVerdict } from "../attempts/stray-policy.ts";
import type { StrayRow, TerminalLog } from "../attempts/terminal-log.ts";
import type { TerminalFacts, TransactionReport } from "../terminal/terminal.ts";
import { type LookAtTerminal, RETRY_MAX_MS, RETRY_MIN_MS } from "./terminal-look.ts";

interface StrayParts {
  readonly attempts: Pick<AttemptStore, "orderOfReport">;
  readonly terminalLog: TerminalLog;
  readonly terminal: TerminalFacts;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time between the two looks that show that the terminal keeps the sale. */
  readonly confirmAfterMs: number;
  /** Called whenever {@link StrayReports.isAsking} may have changed. */
  readonly asking: () => void;
  /** Waits until no attempt in doubt is asked about, because the result may belong to one. */
  readonly look: LookAtTerminal;
}

/**
 * Results that the terminal reports although nothing runs (docs/design.md 3.4). The driver refuses
 * them on the wire; here they are stored and told, and the terminal is asked whether it has kept
 * them in spite of that. Nothing is sold meanwhile, because the next sale would hide the answer.
 */
export class StrayReports {
  readonly #parts: StrayParts;
  readonly #waiting: StrayRow[] = [];
  readonly #abort = new AbortController();
  #runner: Promise<void> | undefined;

  constructor(parts: StrayParts) {
    this.#parts = parts;
  }

  /** At start: takes up the reports that an earlier process did not ask about. */
  begin(): void {
    for (const row of this.#parts.terminalLog.openStrays()) this.#ask(row);
  }

  /** The terminal still has to be asked about at least one of them. */
  get isAsking(): boolean {
    return this.#waiting.length > 0;
  }

  /** The terminal has reported `report`, and it was refused. Never throws. */
  take(report: TransactionReport): void {
    const { log, terminal, clock } = this.#parts;
    const { good, resultCode, amountMinor, receiptNumber, traceNumber, terminalId } = report;
    const told = { good, resultCode, amountMinor, receiptNumber, traceNumber, terminalId };
    const seen = { atMs: clock.now(), report, identity: terminal.state.identity };
    const kept = this.#keep(seen);
    if (kept === "repeated") {
      log.warn(told, "the terminal reported the same result again although no payment runs");
      return;
    }
    log.error(
      { alarm: "unexpected-report", ...told },
      "the terminal reported a result although no payment runs; refused",
    );
    // A result that the terminal itself calls not good charged nobody.
    if (good || resultCode === null) this.#ask({ id: kept, ...seen });
  }

  async close(): Promise<void> {
    this.#abort.abort(new Error("the connector stops"));
    await this.#runner;
  }

  #keep(seen: Omit<StrayRow, "id">): number | null | "repeated" {
    const { terminalLog, log } = this.#parts;
    // A journal that takes no record cannot tell that this report was told before.
    const isAsked = this.#waiting.some(
      ({ id, report }) => id === null && sameReport(report, seen.report),
    );
    if (isAsked) return "repeated";
    try {
      return terminalLog.keepStray(seen) ?? "repeated";
    } catch (error) {
      log.error({ err: error, alarm: "journal" }, "the journal did not take an unexpected report");
      return null;
    }
  }

  #ask(row: StrayRow): void {
    if (this.#abort.signal.aborted) return;
    this.#waiting.push(row);
    this.#parts.asking();
    this.#runner ??= this.#run();
  }

  async #run(): Promise<void> {
    try {
      for (let row = this.#waiting[0]; row; row = this.#waiting[0]) {
        await this.#conclude(row, await this.#settle(row));
        this.#waiting.shift();
        this.#parts.asking();
      }
    } catch (error) {
      // Only the ordered stop ends a run early; the next start asks again.
      if (!this.#abort.signal.aborted) throw error;
    } finally {
      this.#runner = undefined;
    }
  }

  async #settle(row: StrayRow): Promise<Concluded> {
    const { clock, log, confirmAfterMs } = this.#parts;
    const { receiptNumber, traceNumber } = row.report;
    let earlier: Look | null = null;
    for (;;) {
      const about = { receiptNumber, traceNumber };
      const look = await this.#parts.look(about, this.#abort.signal);
      const verdict = judgeStray({ ...row, ...this.#known(row) }, look, earlier);
      log.warn({ ...about, verdict: verdict.verdict }, `unexpected report: ${verdict.because}`);
      if (verdict.verdict !== "look-again") return verdict;
      earlier = look;
      await sleep(clock, "unexpected report", confirmAfterMs, this.#abort.signal);
    }
  }

  /** A journal that cannot be read knows nothing; the alarm is raised all the same. */
  #known({ id, report }: StrayRow): Pick<Stray, "knownAs" | "soldSince" | "closedSince"> {
    const { attempts, terminalLog, log } = this.#parts;
    try {
      const soldSince = id === null || terminalLog.soldSinceStray(id);
      const closedSince = id === null || terminalLog.closedSinceStray(id);
      return { knownAs: attempts.orderOfReport(report, "") ?? null, soldSince, closedSince };
    } catch (error) {
      log.error({ err: error }, "the journal could not be read about an unexpected report");
      return { knownAs: null, soldSince: true, closedSince: true };
    }
  }

  /** Raises the alarm, then writes the finding, trying until the journal takes the record. */
  async #conclude(row: StrayRow, { verdict, because }: Concluded): Promise<void> {
    const { terminalLog, clock, log } = this.#parts;
    this.#tell(row.report, { verdict, because });
    let { id } = row;
    for (let retryMs = RETRY_MIN_MS; ; retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)) {
      try {
        id ??= terminalLog.keepStray(row) ?? null;
        if (id !== null) terminalLog.endStray(id, clock.now(), verdict, because);
        return;
      } catch (error) {
        if (error instanceof BrokenInvariant) throw error;
        log.error({ err: error, alarm: "journal" }, "the journal takes nothing");
      }
      await sleep(clock, "journal retry", retryMs, this.#abort.signal);
    }
  }

  #tell(report: TransactionReport, { verdict, because }: Concluded): void {
    const { log } = this.#parts;
    const { receiptNumber, traceNumber, amountMinor } = report;
    if (verdict === "held") {
      log.error(
        { alarm: "sale-without-order", receiptNumber, traceNumber, amountMinor },
        "the terminal holds a sale that no order asked for: " +
          `receipt ${receiptNumber ?? "unknown"}, ${amountOf(report)}`,
      );
    }
    if (verdict === "unclear") {
      const words = `the terminal may hold a sale that no order asked for: ${because}`;
      log.error({ alarm: "sale-without-order-unclear", receiptNumber }, words);
    }
  }
}

type Concluded = Exclude<StrayVerdict, { verdict: "look-again" }>;

function amountOf({ amountMinor, receipt }: TransactionReport): string {
  if (amountMinor === null) return "of an unknown amount";
  // docs/zvt.md 4.2: no currency means euro.
  const alpha = receipt.currencyAlphaCode || "EUR";
  return `${formatMajor(amountMinor, currencyOf(alpha)?.exponent ?? 2)} ${alpha}`;
}
