import type { ByIdBehaviour } from "./by-id/by-id-kinds.ts";
import type { OneWayBehaviour, OneWayKind } from "./one-way/one-way-kinds.ts";

/** What the terminal does with one financial command. */
export interface Behaviour {
  readonly outcome: Outcome;
  /** Until the card has been read and the bank has answered. */
  readonly customerMs: number;
  /** Where the line between register and terminal breaks, and for how long. */
  readonly lost: {
    readonly at: Moment;
    readonly how: "line" | "silence";
    readonly ms: number;
  } | null;
  /** What becomes of a sale whose report got no ACK (docs/zvt.md 9.1, 9.4). */
  readonly withoutAck: "reversed" | "kept" | "reversed-late" | "hidden";
  /** A reversal that was asked for names the number of what it reverses. */
  readonly numbersOriginal: boolean;
  /** The ACKs of the print messages count (docs/zvt.md 9.1). */
  readonly printsCount: boolean;
  readonly cancel: "taken" | "refused" | "ignored" | "taken-but-approves";
  /** Of a terminal that cannot be asked. */
  readonly oneWay?: OneWayBehaviour;
  /** Of a terminal that is asked by id. */
  readonly byId?: ByIdBehaviour;
}

export const outcomes = [
  "approve",
  "decline",
  "walk-away",
  "refuse",
  "other-amount",
  "no-result-code",
  "no-report",
  "report-then-abort-kept",
  "report-then-abort-reversed",
  "wrong-pin-first",
  "report-twice",
] as const;
type Outcome = (typeof outcomes)[number];

export const moments = [
  "command",
  "command-late",
  "accepted",
  "report",
  "answer",
  "printing",
  "completion",
] as const;
export type Moment = (typeof moments)[number];

/** Everything that happens in one run; JSON, so that it can be printed, replayed and shrunk. */
export interface Plan {
  readonly seed: number;
  /** The terminal has a last transaction before the first order. */
  readonly usedTerminal: boolean;
  /** For the financial commands in the order in which they reach the terminal; then all is good. */
  readonly behaviours: readonly Behaviour[];
  /** How long the wire is busy before each financial command can leave; then it is free. */
  readonly wireMs: readonly number[];
  readonly steps: readonly Step[];
  /** The terminal is one that cannot be asked (docs/rules/25-one-way.md). */
  readonly oneWay?: OneWayKind;
  /** The terminal is asked by id (docs/rules/37-by-id.md). */
  readonly byId?: true;
}

export type Step = { readonly afterMs: number } & Action;

export type Action = Call | Harm | StoreHarm | TerminalFault | Surroundings | GatewayReturn;

/** What the kiosk or the operator asks of tp-manager. */
export type Call =
  | {
      readonly do: "pay";
      readonly order: string;
      readonly amountMinor: number;
      readonly goodsSeconds: number | null;
      /** The kiosk hangs up after this time. */
      readonly patienceMs: number | null;
    }
  | { readonly do: "deliver"; readonly order: string; readonly amountMinor: number | null }
  | { readonly do: "reverse"; readonly order: string }
  | { readonly do: "look-up"; readonly order: string }
  | { readonly do: "cancel" }
  | { readonly do: "end-of-day" }
  | { readonly do: "accept-terminal" };

/** Money that goes back by way of the gateway: asked for in the merchant's account, or by us. */
export interface GatewayReturn {
  readonly do: "gateway-return";
  readonly order: string;
  readonly by: "merchant" | "kiosk";
  readonly how: "cancel" | "refund";
  /** null: all of it. A cancellation is always of all. */
  readonly amountMinor: number | null;
  /** From now on, or from when the gateway has the order and has named it. */
  readonly ms: number;
  /** So long after it the kiosk asks for the terminal's reversal; null: it does not. */
  readonly reversalAfterMs: number | null;
  /** When the gateway notifies it; "when-asked": not before it is asked for it at the end. */
  readonly notified: "at-once" | "late" | "twice" | "when-asked";
}

/** What a process or its disk suffers. */
export type Harm =
  | { readonly do: "crash"; readonly ms: number }
  | { readonly do: "supervisor-crash"; readonly ms: number }
  | ({ readonly do: "crash-at-write" } & CrashAtWrite)
  | ({ readonly do: "supervisor-crash-at-write" } & CrashAtWrite)
  | ({ readonly do: "disk-full" } & FullDisk)
  | ({ readonly do: "supervisor-disk-full" } & FullDisk)
  | { readonly do: "disk-unreadable"; readonly reads: number };

/** What becomes of the files of the databases while nothing runs. */
export type StoreHarm =
  | { readonly do: "nightly-copy" }
  | { readonly do: "store-lost"; readonly store: Store; readonly ms: number }
  | { readonly do: "store-zeroed"; readonly store: Store; readonly ms: number }
  | { readonly do: "store-restored"; readonly store: Store; readonly ms: number }
  | { readonly do: "stores-restored"; readonly ms: number }
  /** The other store is that of another day. */
  | { readonly do: "stores-swapped"; readonly store: Store; readonly ms: number };

export type Store = "journal" | "supervisor";

interface CrashAtWrite {
  readonly writes: number;
  readonly when: "before" | "after";
  readonly ms: number;
}

interface FullDisk {
  readonly afterWrites: number;
  readonly writes: number;
}

/** What happens around the processes. */
export type Surroundings =
  | { readonly do: "replace-terminal" }
  | { readonly do: "reboot" }
  | { readonly do: "line-down"; readonly ms: number }
  | { readonly do: "not-told"; readonly ms: number }
  /** Another terminal is there for a while, and then the former one again. */
  | { readonly do: "terminal-comes-back"; readonly ms: number }
  /** The terminal wants its end of day. */
  | { readonly do: "demand" }
  /** A sale that nobody asked for, reported while the terminal is idle, and what becomes of it. */
  | { readonly do: "unmatched-sale"; readonly withoutAck: Behaviour["withoutAck"] }
  | { readonly do: "stop"; readonly ms: number }
  | { readonly do: "clock-jump"; readonly ms: number }
  | { readonly do: "ipc"; readonly mode: IpcMode; readonly ms: number }
  /** The supervisor answers, and takes no transaction over. */
  | { readonly do: "supervisor-refuses"; readonly ms: number }
  /** At the very end an operator reads the bank's statement and settles what stayed unknown. */
  | { readonly do: "operator-settles" }
  | { readonly do: "gateway"; readonly mode: GatewayMode; readonly ms: number };

/** What a terminal does to its own storage and answers. */
export type TerminalFault =
  /** The terminal takes no cards and answers no question about what it has stored. */
  | { readonly do: "terminal-locked"; readonly ms: number }
  | { readonly do: "answers-late"; readonly byMs: number; readonly ms: number }
  /** The last transaction is reported only later, although it got its ACK. */
  | { readonly do: "answers-stale"; readonly ms: number }
  | { readonly do: "spells-numbers"; readonly spelling: Spelling; readonly ms: number }
  /** Its storage is emptied, the numbers go on. */
  | { readonly do: "terminal-forgets" }
  | { readonly do: "numbers-start-over" }
  /** An end of day that nobody here asked for; receipt numbers begin again. */
  | { readonly do: "closes-by-itself" }
  /** A card that nobody asked for, at a terminal that cannot be asked. */
  | { readonly do: "approves-by-itself" };

export type Spelling = "full" | "without-zeros" | "no-receipt" | "no-trace";

const calls = ["pay", "deliver", "reverse", "look-up", "cancel", "end-of-day", "accept-terminal"];

export const isCall = (action: Action): action is Call => calls.includes(action.do);
export const isStoreHarm = (action: Action): action is StoreHarm =>
  /^(nightly|stores?-)/.test(action.do);
export const isGatewayReturn = (action: Action): action is GatewayReturn =>
  action.do === "gateway-return";
export const isHarm = (action: Action): action is Harm => /crash|disk/.test(action.do);

export type IpcMode = "down" | "slow" | "lost-answer" | "refuses";
export type GatewayMode =
  | "unreachable"
  | "unavailable"
  | "lost-answer"
  | "server-error"
  | "credentials-refused";

const good: Omit<Behaviour, "customerMs"> = {
  outcome: "approve",
  lost: null,
  withoutAck: "reversed",
  numbersOriginal: true,
  printsCount: false,
  cancel: "taken",
};
export const goodBehaviour: Behaviour = { ...good, customerMs: 2_000 };
