import { sleep, systemClock } from "../../src/shared/time.ts";
import { missingTraits } from "../../src/simulator/terminal/faults/fault-kinds.ts";
import { zvtFaults } from "../../src/simulator/terminal/zvt/faults.ts";
import { asSlow, PATIENCE_MS } from "../support/clocks/patience.ts";
import { until } from "../support/programs/child-program.ts";
import { type Answer, type Ledger, TestInstallation } from "../support/programs/installation.ts";
import { isWhole, type Line, rowsOf } from "../support/run/scope.ts";

/** One fault of the simulator's table, armed for one payment. */
interface FaultCase {
  /** As in `--fault`. */
  readonly fault: string;
  /** The order is cancelled while the terminal waits for a card. */
  readonly cancel: boolean;
}

const abortFaults = ["refuse-abort", "ignore-abort", "late-approval"];
const pointFaults = ["mute", "unplug", "reboot"];

/** Faults of frames and their ACK, which TCP does not have (docs/zvt.md 1.2, 3.2). */
function notOn(line: Line): readonly string[] {
  const traits = [line === "tcp" ? "tcp" : "serial"] as const;
  return Object.entries(zvtFaults.kinds).flatMap(([name, kind]) =>
    missingTraits(kind, traits).length === 0 ? [] : [name],
  );
}

/**
 * The kinds that are played on a line: in the whole scope all that it can have, elsewhere on a
 * pseudo-terminal those that TCP cannot have, and those that strike at a moment.
 */
export function kindsOn(line: Line): readonly string[] {
  const kinds = Object.keys(zvtFaults.kinds).filter((name) => !notOn(line).includes(name));
  if (isWhole || line === "tcp") return kinds;
  return kinds.filter((name) => notOn("tcp").includes(name) || pointFaults.includes(name));
}

/** Every fault; those that strike at a moment at each second moment on one of the lines. */
export function faultCases(line: Line): readonly FaultCase[] {
  return kindsOn(line)
    .flatMap((name) => (pointFaults.includes(name) ? atPoints(name, line) : [withLimits(name)]))
    .map((fault) => ({ fault, cancel: abortFaults.includes(fault) }));
}

function atPoints(name: string, line: Line): readonly string[] {
  return rowsOf(Object.keys(zvtFaults.points), 4, line === "tcp" ? 0 : 2).map(
    (point) => `${name}:at=${point}${name === "unplug" ? ",ms=50" : ""}`,
  );
}

/** Long enough to be seen, short enough for a test. */
function withLimits(name: string): string {
  if (name === "delay") return `delay:message=answer,ms=${asSlow(1_500)}`;
  if (name === "hold") return "hold:at=reported,ms=300";
  return name;
}

/** What everybody believes when a payment with a fault is over. */
export interface Outcome {
  readonly fault: string;
  /** The answer to the request, and what the journal says after recovery. */
  readonly answer: string;
  readonly journal: string;
  /** Minor units that the bank has kept, and that the gateway knows. */
  readonly bank: number;
  readonly gateway: number;
  readonly ms: number;
  /** Why the journal does not know. */
  readonly why: string;
  /** The fault has struck. */
  readonly struck: boolean;
  /** Nobody claims what the bank does not say. */
  readonly agrees: boolean;
}

/** An aborted order is a candidate for an unreported sale of its amount (docs/rules/19-late.md). */
const AMOUNT_STEP_MINOR = 100;

/** One installation that plays faults one after the other. */
export class FaultHouse {
  readonly #at: TestInstallation;
  readonly #prefix: string;
  #orders = 0;
  #played = "nothing";

  constructor(line: Line, prefix: string, config: Readonly<Record<string, string | number>>) {
    this.#prefix = prefix;
    this.#at = new TestInstallation({
      line,
      config,
      terminalSwitches: [
        "--instant",
        "--reboot-ms",
        "100",
        "--t2-ms",
        String(config["ZVT_T2_MS"]),
        "--t3-ms",
        String(config["ZVT_T3_MS"]),
        "--t4-ms",
        String(config["ZVT_T4_MS"]),
        // A T4 this short is no whole minute; so that 04 FF has a time-out byte to leave out.
        "--quirk",
        "t4-byte-zero",
      ],
    });
  }

  async start(): Promise<void> {
    await this.#at.start();
    await this.#at.connected();
    await this.#at.firstPaid(`${this.#prefix}-first`);
  }

  stop(): Promise<void> {
    return this.#at.stop();
  }

  async play({ fault, cancel }: FaultCase): Promise<Outcome> {
    await this.#at.connected().catch((error: unknown) => {
      throw new Error(`before ${fault}, after ${this.#played}`, { cause: error });
    });
    this.#played = fault;
    const { charged: before, entries } = await this.#at.ledger();
    await secondAfterReversal(entries.at(-1));
    await this.#at.arm(fault);
    if (cancel) await this.#at.arm(`hold:at=card,ms=${asSlow(400)}`);
    const orderId = `${this.#prefix}-${++this.#orders}`;
    const startedMs = performance.now();
    // The cents are the bank's answer; an abort needs a decline.
    const wholeMinor = (this.#orders + 1) * AMOUNT_STEP_MINOR;
    const cents = fault === "abort-without-code" ? 5 : 0;
    const paying = this.#begun((wholeMinor + cents) / 100, orderId);
    if (cancel) await Promise.race([paying, this.#cancel()]);
    const { one: answer } = await paying;
    const ms = Math.round(performance.now() - startedMs);
    const armed = await this.#at.control<Armed>("GET", "/faults");
    await this.#at.disarm();
    const settled = await this.#settled(orderId);
    const charged = settled.one.status === "Success";
    const bank = await this.#bank(before, charged ? wholeMinor : 0, settled.one.status);
    const orders = (await this.#at.orders()).filter((order) => order.merchantReference === orderId);
    const gateway = orders.reduce((sum, { amount }) => sum + Math.round(Number(amount) * 100), 0);
    const known = settled.one.status !== "Unknown";
    return {
      fault,
      answer: answer.status,
      journal: settled.one.status,
      bank,
      gateway,
      ms,
      why: String(settled.one.error?.details?.["why"] ?? settled.one.error?.code ?? ""),
      // One that is used up is gone; one without end counts.
      struck: armed.armed.every(({ name, struck }) => name !== nameOf(fault) || struck > 0),
      agrees:
        orders.length === (charged ? 1 : 0) &&
        (!known || bank === (charged ? wholeMinor : 0)) &&
        (!charged || gateway === wholeMinor) &&
        (answer.status === settled.one.status || answer.status === "Unknown"),
    };
  }

  /** Begins a payment, again while a late report of the previous fault is being asked about. */
  async #begun(amount: number, orderId: string): Promise<Answer> {
    return await until("the payment is begun", async () => {
      const answer = await this.#at.pay(amount, orderId);
      return answer.one.error?.code === "TERMINAL_IN_DOUBT" ? undefined : answer;
    });
  }

  /** Cancels as soon as the payment runs. */
  async #cancel(): Promise<void> {
    await until("the terminal waits for a card", async () => {
      const { running } = await this.#at.control<State>("GET", "/state");
      return running?.phase === "card" || undefined;
    });
    await this.#at.call("POST", "/cancel");
  }

  /** Until recovery has found out, or has given up. */
  async #settled(orderId: string): Promise<Answer> {
    let last: Answer | undefined;
    const find = async (): Promise<Answer | undefined> => {
      last = await this.#at.call("GET", `/payment/${orderId}`);
      const { status, notificationGatewaySent } = last.one;
      const over = status === "Success" ? notificationGatewaySent : status !== "Unknown";
      return over ? last : undefined;
    };
    return await until("the order is settled", find).catch((error: unknown) => {
      if (last) return last;
      throw error;
    });
  }

  /** A terminal that was left alone may still be reversing. */
  async #bank(before: number, expected: number, status: string): Promise<number> {
    let bank = 0;
    const isBooked = async (): Promise<true | undefined> => {
      bank = (await this.#at.ledger()).charged - before;
      return bank === expected || undefined;
    };
    const limitMs = status === "Unknown" ? 0 : PATIENCE_MS;
    await until("the bank agrees", isBooked, limitMs).catch(() => undefined);
    return bank;
  }
}

/**
 * Resolves in the second after a reversal. The terminal gives the receipt number of a reversed sale
 * to the next sale, and the records of two sales with one number and one second cannot be
 * distinguished (docs/matching.md), so that the second order would stay unknown. No customer is so
 * fast.
 */
async function secondAfterReversal(last: Ledger["entries"][number] | undefined): Promise<void> {
  if (last?.kind !== "reversal") return;
  const endMs = (Math.floor(Date.parse(last.at) / 1_000) + 1) * 1_000;
  await sleep(systemClock, "the next second", endMs - systemClock.now());
}

interface Armed {
  readonly armed: readonly { readonly name: string; readonly struck: number }[];
}

interface State {
  readonly running: { readonly phase: string } | null;
}

function nameOf(fault: string): string {
  return fault.split(":")[0] as string;
}

const titles = ["fault", "struck", "answer", "ms", "journal", "bank", "gateway", "agree", ""];

/** One row a fault; those that a line cannot have are named with the reason. */
export function tableOf(outcomes: readonly Outcome[], line: Line): string {
  const rows = outcomes.map(({ fault, answer, journal, bank, gateway, ms, ...more }) => [
    fault,
    more.struck ? "yes" : "NO",
    answer,
    String(ms),
    journal,
    String(bank),
    String(gateway),
    more.agrees ? "yes" : "NO",
    more.why,
  ]);
  const others = notOn(line).map((name) => [name, "serial framing: TCP has none"]);
  const all = [titles, ...rows, ...others];
  const widths = titles.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  return all
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
