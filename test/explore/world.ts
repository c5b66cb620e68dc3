import type { AttemptState, AttemptStep } from "../../src/tp-manager/attempts/payment.ts";
import type { KnownRecord } from "../../src/tp-manager/journal/record-rows.ts";
import type { Probe } from "../../src/tp-manager/matching/facts.ts";
import type {
  Baseline,
  TerminalIdentity,
  TransactionReport,
} from "../../src/tp-manager/terminal/terminal.ts";
import type { Device } from "./device.ts";
import { momentOf } from "./entry-reports.ts";

/** Everything that a walk can reach: terminal and bank, line, disk, memory, kiosk. Plain values. */
export interface World {
  readonly device: Device;
  readonly line: Line;
  readonly disk: Disk;
  readonly ram: Ram;
  readonly kiosk: Kiosk;
  readonly left: Left;
}

/** One message at a time is under way, because every message is answered before the next one. */
interface Line {
  message: Message | null;
}

type Message =
  | { readonly to: "terminal"; readonly what: "payment"; readonly order: string }
  | { readonly to: "terminal"; readonly what: "accept" | "refuse" }
  | { readonly to: "register"; readonly what: "report"; readonly report: TransactionReport }
  | { readonly to: "register"; readonly what: "print" | "completion" | "abort" };

/** The records that a crash leaves. */
interface Disk {
  attempts: StoredAttempt[];
  unmatched: StoredUnmatched[];
  /** Every record that was reported, oldest first. */
  records: KnownRecord[];
  /** When an end of day was run. */
  closings: number[];
  /** Names of the alarms that were raised, each once. */
  alarms: string[];
  /** Entries whose reports were written, for the oracle. */
  heardOf: number[];
}

export interface StoredAttempt {
  readonly order: string;
  /** Counts the attempts of the order from 1. */
  readonly number: number;
  readonly state: AttemptState;
  readonly baseline: Baseline;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  /** Those that the matcher reads. */
  readonly events: readonly AttemptStep[];
  /** A complete run about it has ended. */
  readonly asked: boolean;
  /** The terminal said its end, so the command is over. */
  readonly served: boolean;
  /** What was heard on the wire, for the oracle. */
  readonly heard: WireEvidence;
}

export interface WireEvidence {
  /** The terminal's own end, and whether it said that nothing was sold. */
  readonly end: "good" | "bad" | null;
  /** Our ACK of a good report has arrived: a print or a good end followed. */
  readonly proved: boolean;
  readonly good: boolean;
  /** The connector crashed after a good report, before the end of the payment. */
  readonly cut: boolean;
}

export interface StoredUnmatched {
  readonly report: TransactionReport;
  readonly identity: TerminalIdentity;
  readonly atMs: number;
  /** How many there were when it was reported. */
  readonly attempts: number;
  readonly closings: number;
  readonly finding: string;
}

/** The memory of the connector's process; a crash ends it. */
interface Ram {
  /** The attempt on the terminal. */
  run: number | null;
  baseline: Baseline | null;
  inquiries: OpenQuestion[];
  /** The terminal was asked to cancel. */
  isCancelled: boolean;
  /** A locked terminal has refused the question. */
  isLockedOut: boolean;
}

/** A question to the terminal that is not answered yet; the oldest one is asked. */
export interface OpenQuestion {
  readonly about: "attempt" | "unmatched";
  readonly index: number;
  /** Nothing is sold before it has ended. */
  readonly blocks: boolean;
  readonly earlier: Probe | null;
  readonly probes: number;
  readonly waits: Wait | null;
  /** The lost payment's own time limit has passed since the end was lost. */
  readonly limitOver: boolean;
}

/** "confirm": as long as an automatic reversal may take. "limit": the payment's own time limit. */
export type Wait = "confirm" | "limit";

interface Kiosk {
  request: { readonly order: string; readonly stage: Stage } | null;
  answers: Record<string, KioskAnswer>;
  asked: Record<string, number>;
}

/** "prepare": the terminal is made ready. "ready": the baseline was read. */
type Stage = "prepare" | "ready" | "runs" | "asks";
export type KioskAnswer = "nothing" | "charged" | "not charged" | "unknown" | "reversed";

/** Faults that may still strike. */
interface Left {
  losses: number;
  crashes: number;
  late: number;
  locks: number;
  quirks: number;
  /** What has struck, for the rows of the oracle. */
  struck: string[];
}

/** A copy whose containers can be changed; records are replaced, never changed. */
export function copyOf({ device, line, disk, ram, kiosk, left }: World): World {
  return {
    device: { ...device, entries: [...device.entries] },
    line: { ...line },
    disk: {
      ...disk,
      attempts: [...disk.attempts],
      unmatched: [...disk.unmatched],
      records: [...disk.records],
      closings: [...disk.closings],
      alarms: [...disk.alarms],
      heardOf: [...disk.heardOf],
    },
    ram: { ...ram, inquiries: [...ram.inquiries] },
    kiosk: { ...kiosk, answers: { ...kiosk.answers }, asked: { ...kiosk.asked } },
    left: { ...left, struck: [...left.struck] },
  };
}

/** A walk has one clock, the terminal's: it goes on with each sale, end of day and time limit. */
export function nowMs({ device }: Pick<World, "device">): number {
  return momentOf(device.second).getTime();
}

/** The attempt that speaks for an order: the newest that was not in vain, or else the newest. */
export function latest({ attempts }: World["disk"], order: string): number | null {
  const ofOrder = attempts.flatMap((each, index) => (each.order === order ? [index] : []));
  const inVain = (index: number): boolean => attempts[index]?.state.phase === "not-charged";
  return ofOrder.findLast((index) => !inVain(index)) ?? ofOrder.at(-1) ?? null;
}

export function attemptOf({ disk }: World, index: number): StoredAttempt {
  const attempt = disk.attempts[index];
  if (!attempt) throw new Error(`the walk has no attempt ${index}`);
  return attempt;
}

export function struck({ left }: World, what: string): void {
  if (!left.struck.includes(what)) left.struck = [...left.struck, what].sort();
}
