import type { Clock } from "../../../../src/shared/time.ts";
import type {
  PaymentObserver,
  Prompt,
  TerminalEvent,
  TransactionReport,
} from "../../../../src/tp-manager/terminal/terminal.ts";
import type * as bytes from "../../../../src/tp-manager/terminal/transport/byte-transport.ts";
import type { ZvtOptions } from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { ZvtTerminal } from "../../../../src/tp-manager/terminal/zvt/zvt-terminal.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";

/** Long enough that a slow machine never reaches a limit; tests of a limit shorten it. */
export const patientTimers = { t1Ms: 2_000, t2Ms: 10_000, t3Ms: 10_000, t4Ms: 15_000 };

export const tenEuro = {
  amountMinor: 1000,
  currencyNumeric: "978",
  currencyAlpha: "EUR",
} as const;

export const never = new AbortController().signal;

export class Driver {
  readonly terminal: ZvtTerminal;
  readonly events: TerminalEvent[] = [];
  readonly logged: string[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(
    transport: bytes.ByteTransport,
    options: Partial<ZvtOptions> = {},
    clock: Clock = steppedClock,
  ) {
    const write =
      (level: string) =>
      (details: unknown, text?: unknown): void => {
        this.logged.push(`${level} ${text} ${JSON.stringify(details)}`);
      };
    const log = {
      debug: write("debug"),
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
      fatal: write("fatal"),
    };
    const quick = {
      timers: patientTimers,
      pollIntervalMs: 60_000,
      silenceMs: 20,
      reconnect: { minMs: 5, maxMs: 20 },
    };
    this.terminal = new ZvtTerminal({ ...quick, ...options }, { transport, clock, log });
    this.terminal.subscribe((event) => {
      this.events.push(event);
      for (const check of [...this.#waiting]) check();
    });
  }

  /** Resolves as soon as the condition holds, which is checked at each event. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }

  connected(): Promise<void> {
    return this.until(() => this.terminal.state.link === "connected");
  }
}

/** Records what the driver reports, and answers reports as the test wants. */
export class Observer implements PaymentObserver {
  readonly reports: TransactionReport[] = [];
  readonly prompts: Prompt[] = [];
  /** What happened, in order. */
  readonly happened: string[] = [];
  verdict: (report: TransactionReport) => "accept" | "refuse" = () => "accept";

  report(report: TransactionReport): "accept" | "refuse" | "hold" {
    this.reports.push(report);
    this.happened.push(`report ${report.resultCode}`);
    return this.verdict(report);
  }

  ackArrived(): void {
    this.happened.push("acknowledged");
  }

  prompt(prompt: Prompt): void {
    this.prompts.push(prompt);
    this.happened.push(`prompt ${prompt.code}`);
  }
}
