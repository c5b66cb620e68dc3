import {
  fixedFaultTable,
  type Point as OneWayPoint,
} from "../../src/simulator/terminal/concert/faults.ts";
import { type Point, zvtFaults } from "../../src/simulator/terminal/zvt/faults.ts";
import { Random } from "../support/inputs/random.ts";
import type { TerminalName } from "./terminal-kinds.ts";

const victims = [
  "tp-manager",
  "terminal",
  "supervisor",
  "sandbox",
  "both programs",
  "the kiosk's power",
  "the restore",
  "everything",
] as const;
export type Victim = (typeof victims)[number];

/**
 * "event": after this wire event of the command and a little later, around what follows from it.
 * "hold": the terminal stands still at this moment. "time": so long after the command began.
 * "change": a restore's process ends itself after so many changes to files.
 */
type Moment =
  | { readonly at: "event"; readonly number: number; readonly delayMs: number }
  | { readonly at: "hold"; readonly phase: Point | OneWayPoint }
  | { readonly at: "time"; readonly afterMs: number }
  | { readonly at: "change"; readonly number: number };

export const gatewayKinds = ["confirm", "cancel", "refund"] as const;

/** Every third kill is of a sale, half of them at terminals that cannot be asked. */
const turns = [
  "sale",
  "two-phase sale",
  "reversal",
  "concert sale",
  "end of day",
  "gateway confirm",
  "sale",
  "gateway cancel",
  "gateway refund",
  "caisse-ap sale",
  "housekeeping",
  "restore",
] as const;
export type Command = (typeof turns)[number];
export const commands: readonly Command[] = [...new Set(turns)];

/** How a command shows on the terminal's wire. */
interface Wire {
  /** Control field, or the word of a terminal that cannot be asked. */
  readonly control: string;
  /** About as many wire events as it has. */
  readonly events: number;
  readonly holds: ReadonlyArray<Point | OneWayPoint>;
  /** Each second one is killed at the other terminal. */
  readonly oneWay?: readonly [TerminalName, TerminalName];
}

const points = Object.keys(zvtFaults.points) as readonly Point[];
const oneWayPoints = Object.keys(fixedFaultTable.points) as readonly OneWayPoint[];
const plain: readonly Point[] = ["command", "accepted", "completion", "completed"];
const oneWay = { control: "debit", events: 20, holds: oneWayPoints };

export const wires: Readonly<Record<Command, Wire | null>> = {
  sale: { control: "0601", events: 45, holds: points },
  "two-phase sale": { control: "0601", events: 50, holds: points },
  "concert sale": { ...oneWay, oneWay: ["concert, pty", "concert, tcp"] },
  "caisse-ap sale": { ...oneWay, oneWay: ["caisse-ap, bare", "caisse-ap, session"] },
  reversal: { control: "0630", events: 35, holds: points },
  "end of day": { control: "0650", events: 15, holds: plain },
  housekeeping: { control: "0670", events: 15, holds: plain },
  "gateway confirm": null,
  "gateway cancel": null,
  "gateway refund": null,
  restore: null,
};

/** A restore of one database makes about as many changes to files, one of both twice as many. */
const RESTORE_CHANGES = 18;

/** One kill: who, when, and what the kiosk does afterwards. The same seed gives the same plan. */
export interface KillPlan {
  readonly index: number;
  readonly command: Command;
  readonly victim: Victim;
  readonly moment: Moment;
  /** The bank declines a sale. */
  readonly declined: boolean;
  /** The kiosk repeats its order while recovery runs, or only afterwards. */
  readonly repeats: "at once" | "afterwards" | "never";
  /** What comes of the goods of a two-phase sale; what a refund is of; what is restored. */
  readonly share: "all" | "part" | "nothing" | "no word";
  /** What the gateway does with the request, so that a kill can hit it in between. */
  readonly gateway: "hang-before-commit" | "hang-after-commit" | "latency" | null;
  /** Chooses what a power cut leaves of what was not synced. */
  readonly luck: number;
}

/** The terminal at which a kill takes place. */
export function terminalOf(index: number): TerminalName {
  const lines = wires[turns[index % turns.length] ?? "sale"]?.oneWay;
  return lines?.[Math.floor(index / turns.length) % 2 === 0 ? 0 : 1] ?? "zvt";
}

/** `powerCuts`: the programs' writes are recorded, so that the power can be cut. */
export function killPlan(seed: number, index: number, powerCuts: boolean): KillPlan {
  const random = new Random(seed * 1_000_003 + index);
  const command = turns[index % turns.length] ?? "sale";
  const wire = wires[command];
  if (command === "restore") return restorePlan(random, index, powerCuts);
  const victim = wire?.oneWay
    ? oneWayVictim(random, powerCuts)
    : victimOf(random, wire !== null, powerCuts);
  const isAfterTheSale = victim === "supervisor" || victim === "sandbox" || wire === null;
  const timed = { at: "time", afterMs: random.between(0, wire ? 400 : 60) } as const;
  return {
    index,
    command,
    victim,
    moment: wire
      ? random.weighted<Moment>([
          [isAfterTheSale ? 1 : 6, eventOf(random, wire)],
          [isAfterTheSale ? 1 : 3, { at: "hold", phase: random.pick(wire.holds) }],
          [isAfterTheSale ? 6 : 1, timed],
        ])
      : timed,
    declined: isSale(command) && random.happens(0.08),
    repeats: random.pick(["at once", "afterwards", "never"]),
    share: random.pick(["all", "part", "nothing", "no word"]),
    gateway: isAfterTheSale
      ? random.pick(["hang-before-commit", "hang-after-commit", "latency", null])
      : null,
    luck: random.between(1, 1_000_000),
  };
}

const isSale = (command: Command): boolean =>
  command === "sale" || wires[command]?.oneWay !== undefined;

/** Killed while the copies are put back, or while the next start finishes that. */
function restorePlan(random: Random, index: number, powerCuts: boolean): KillPlan {
  const share = random.pick(["all", "part", "nothing"] as const);
  const changes = share === "all" ? 2 * RESTORE_CHANGES : RESTORE_CHANGES;
  return {
    index,
    command: "restore",
    share,
    declined: false,
    gateway: null,
    victim: random.weighted<Victim>([
      [6, "the restore"],
      [2, "both programs"],
      [powerCuts ? 4 : 0, "the kiosk's power"],
    ]),
    moment: { at: "change", number: random.between(1, changes) },
    repeats: random.pick(["at once", "afterwards", "never"]),
    luck: random.between(1, 1_000_000),
  };
}

function victimOf(random: Random, onWire: boolean, powerCuts: boolean): Victim {
  return random.weighted<Victim>([
    [10, "tp-manager"],
    [onWire ? 4 : 0, "terminal"],
    [onWire ? 3 : 8, "supervisor"],
    [onWire ? 1 : 3, "sandbox"],
    [2, "both programs"],
    [powerCuts ? 5 : 0, "the kiosk's power"],
  ]);
}

/** The others change nothing that such a terminal could notice. */
function oneWayVictim(random: Random, powerCuts: boolean): Victim {
  return random.weighted<Victim>([
    [10, "tp-manager"],
    [6, "terminal"],
    [3, "supervisor"],
    [2, "both programs"],
    [powerCuts ? 3 : 0, "the kiosk's power"],
    [4, "everything"],
  ]);
}

function eventOf(random: Random, { events }: Wire): Moment {
  return { at: "event", number: random.between(0, events), delayMs: delay(random) };
}

/** Commits take a fraction of a millisecond. */
const delay = (random: Random): number =>
  random.weighted([
    [3, 0],
    [3, random.between(1, 4)],
    [1, random.between(5, 40)],
  ]);
