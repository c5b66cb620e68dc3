import type { LastTransaction, TerminalIdentity } from "../../src/tp-manager/terminal/terminal.ts";
import { identity as own } from "../support/terminals/reports.ts";
import { type Entry, reportOf, type Spelling } from "./entry-reports.ts";

/** How a terminal is made. A walk is about one character. */
export interface Character {
  /** The fate of an approved sale whose report never got an answer, or was refused. */
  readonly unanswered: "reversed" | "kept";
  readonly refused: "reversed" | "kept";
  /** A reversal of its own becomes its last stored transaction. */
  readonly storesReversals: boolean;
  readonly prints: boolean;
  readonly spelling: Spelling;
  readonly emptyAtFirst: boolean;
  /** The sale from before is one of ours. */
  readonly knowsEarlier: boolean;
  /** Answers questions, with what it had before, while a payment still runs that it lost. */
  readonly answersWhilePaying: boolean;
  readonly closingEmpties: boolean;
  /** Never repeats a sale that got no ACK. */
  readonly hides: boolean;
}

export const plain: Character = {
  unanswered: "reversed",
  refused: "reversed",
  storesReversals: false,
  prints: false,
  spelling: "full",
  emptyAtFirst: false,
  knowsEarlier: true,
  answersWhilePaying: false,
  closingEmpties: false,
  hides: false,
};

type Lock = "initialisation" | "end of day";

/** The terminal's own work. */
export type Process =
  | { readonly at: "idle" }
  /** The command was taken; `alone`: the line to the register is gone. */
  | { readonly at: "paying"; readonly order: string; readonly alone: boolean }
  | { readonly at: "reported"; readonly entry: number; readonly late: boolean }
  | { readonly at: "accepted"; readonly entry: number; readonly printed: boolean }
  | { readonly at: "refused"; readonly entry: number; readonly late: boolean }
  | { readonly at: "unanswered"; readonly entry: number }
  /** Only the end is still to be said, perhaps after a report that is not good. */
  | { readonly at: "ending"; readonly reports: boolean; readonly good: boolean };

export interface Device {
  entries: Entry[];
  /** Index of the last stored transaction; null: the storage is empty. */
  stored: number | null;
  /** Stored before that; a stale terminal repeats it. */
  before: number | null;
  stale: boolean;
  spelling: Spelling;
  nextReceipt: number;
  nextTrace: number;
  second: number;
  process: Process;
  lock: Lock | null;
  /** Another terminal is plugged in. */
  swapped: boolean;
  /** The order whose payment ended by an abort and may still be approved. */
  mayBeLate: string | null;
}

const RECEIPT_MAX = 9999;

export function newDevice({ emptyAtFirst, spelling }: Character): Device {
  const earlier: Entry = {
    order: "earlier",
    receipt: RECEIPT_MAX,
    trace: 100,
    second: 0,
    original: null,
    money: "standing",
    late: false,
  };
  return {
    entries: emptyAtFirst ? [] : [earlier],
    stored: emptyAtFirst ? null : 0,
    before: null,
    stale: false,
    spelling,
    nextReceipt: 1,
    nextTrace: 101,
    second: 1,
    process: { at: "idle" },
    lock: null,
    swapped: false,
    mayBeLate: null,
  };
}

/** Takes money from the card of the customer of `order`. */
export function charge(device: Device, order: string, change: Partial<Entry> = {}): number {
  const { nextReceipt: receipt, nextTrace: trace, second } = device;
  const names = { order, receipt, trace, second, original: null };
  device.entries.push({ ...names, money: "pending", late: false, ...change });
  device.nextReceipt = (receipt % RECEIPT_MAX) + 1;
  device.nextTrace += 1;
  device.second += 1;
  return device.entries.length - 1;
}

export function keep(device: Device, entry: number, { hides }: { hides: boolean }): void {
  setMoney(device, entry, "standing");
  if (!hides) store(device, entry);
}

/** Gives the money of a sale back, by the terminal's own will. */
export function takeBack(device: Device, sale: number, storesReversals: boolean): void {
  setMoney(device, sale, "returned");
  if (!storesReversals) {
    if (device.stored === sale) device.stored = device.before;
    return;
  }
  const { order, amountMinor } = device.entries[sale] as Entry;
  const amount = amountMinor === undefined ? {} : { amountMinor };
  const reversal = charge(device, order, { original: sale, money: "returned", ...amount });
  store(device, reversal);
}

function setMoney(device: Device, index: number, money: Entry["money"]): void {
  device.entries[index] = { ...(device.entries[index] as Entry), money };
}

function store(device: Device, index: number): void {
  if (device.stored === index) return;
  device.before = device.stored;
  device.stored = index;
}

const another: TerminalIdentity = { ...own, serialNumber: "SN-2", terminalId: "52500002" };

export function identityOf({ swapped }: Device): TerminalIdentity {
  return swapped ? another : own;
}

/** The answer to the question for the last transaction. */
export function lastOf(device: Device): LastTransaction {
  const index = device.stale ? device.before : device.stored;
  if (device.swapped || index === null) return { kind: "none" };
  return { kind: "transaction", report: reportOf(device.entries, index, device.spelling) };
}
