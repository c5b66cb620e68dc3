import { entryOf } from "./entry-reports.ts";
import type { Move, Scope } from "./scope.ts";
import type { KioskAnswer, World } from "./world.ts";

/**
 * The oracle. Knows the bank's truth, what the kiosk was answered and what was received from the
 * terminal, and none of the rules by which the product decides.
 */
export interface Breach {
  readonly law: string;
  readonly what: string;
}

/** Rows in which an order may end Unknown, because the terminal cannot report the truth. */
export const unknownRows: ReadonlyArray<{
  readonly row: string;
  readonly applies: (world: World, order: string, scope: Scope) => boolean;
}> = [
  { row: "the terminal's storage was emptied", applies: struckBy("empties its storage", "closed") },
  {
    row: "the storage was empty before a payment that was reported, and is empty after it",
    applies: (world, order, { character }) =>
      character.emptyAtFirst &&
      world.device.stored === null &&
      lastOf(world, order)?.heard.good === true,
  },
  { row: "the terminal repeats an older receipt", applies: struckBy("repeats an older receipt") },
  { row: "the terminal changed how it names a transaction", applies: struckBy("spells ") },
  {
    row: "the terminal names no transaction by a number",
    applies: (_world, _order, { character }) => character.spelling === "time alone",
  },
  {
    row: "the terminal took back what it had proved to have sold, or says so",
    applies: (world, order) => {
      const heard = lastOf(world, order)?.heard;
      return heard?.proved === true && (heard.end === "bad" || struckBy("takes", "says")(world));
    },
  },
  {
    row: "nothing was sold, and the connector crashed between a good report and its end",
    applies: (world, order) =>
      lastOf(world, order)?.heard.cut === true && standing(world, order) === 0,
  },
  {
    row: "the terminal stored the reversal of a sale that it had never reported",
    applies: ({ device, disk }, order, { character }) => {
      const { heard } = disk.attempts.findLast((each) => each.order === order) ?? {};
      if (character.storesReversals && heard?.good === false) return true;
      const stored = device.stored === null ? undefined : device.entries[device.stored];
      const of = stored?.original ?? null;
      return of !== null && !disk.heardOf.includes(of);
    },
  },
  {
    row: "the terminal approved another sale after it had ended its payment",
    applies: ({ device }) => device.entries.some(({ late }) => late),
  },
  {
    row: "the terminal reported a sale when nothing ran, and two orders were waiting for one",
    applies: ({ disk: { attempts, unmatched } }, order) => {
      const own = attempts.findLastIndex((each) => each.order === order);
      return unmatched.some(
        ({ report, attempts: before }) =>
          report.good && own < before && attempts.slice(0, before).some(isOther(order)),
      );
    },
  },
  {
    row: "a sale was never reported, and the terminal had ended another order's payment before it",
    applies: ({ disk: { attempts } }, order) => {
      const own = attempts.findLastIndex((each) => each.order === order);
      const isTurnedAway = ({ order: other, heard }: (typeof attempts)[number]): boolean =>
        other !== order && heard.end === "bad";
      return attempts[own]?.heard.good === false && attempts.slice(0, own).some(isTurnedAway);
    },
  },
  {
    row: "the terminal made two sales of one payment",
    applies: struckBy("charges a second time"),
  },
];

function struckBy(...names: readonly string[]): (world: World) => boolean {
  return ({ left }) => left.struck.some((what) => names.some((name) => what.startsWith(name)));
}

/** An attempt of another order that had ended without a sale, or of which nobody knew the end. */
function isOther(order: string): (attempt: World["disk"]["attempts"][number]) => boolean {
  return ({ order: other, state }) => other !== order && answerOf(state.phase) !== "charged";
}

/** The promises that one move can break. */
export function breachOfMove(before: World, { next, waited }: Move, scope: Scope): Breach | null {
  const last = next.disk.attempts.at(-1);
  if (last && next.disk.attempts.length > before.disk.attempts.length) {
    const left = next.line.message?.what === "payment";
    const isWrong = left && standing(next, last.order) > 0;
    if (isWrong && !cannotBeKnown(before, last.order, scope)) {
      return {
        law: "no card is charged twice for one order",
        what: `a payment of ${last.order} begins while the bank has one`,
      };
    }
  }
  for (const [order, answer] of Object.entries(next.kiosk.answers)) {
    const isNew = next.kiosk.request === null && before.kiosk.request?.order === order;
    const isWrong = isNew && answer === "not charged" && standing(next, order) > 0;
    if (isWrong && !cannotBeKnown(next, order, scope)) {
      return {
        law: "no charge is reported as not paid",
        what: `${order} is answered as not charged while the bank has it`,
      };
    }
  }
  if (waited?.wait !== "limit") return null;
  const heard = next.disk.attempts[waited.attempt]?.heard;
  if (heard?.end !== "bad" || heard.proved) return null;
  return {
    law: "a heard end needs no silence (docs/rules/22-heard-end.md)",
    what: "the kiosk is kept waiting for the payment's time limit although its end was heard",
  };
}

/** The promises about a world in which nothing goes on by itself. */
export function breachAtRest(world: World, scope: Scope): Breach | null {
  const open = world.ram.inquiries.find(({ blocks }) => blocks);
  if (open) {
    return {
      law: "a next sale is possible again",
      what: `a question about the ${open.about} stays open and holds up every sale`,
    };
  }
  for (const order of new Set(world.disk.attempts.map((attempt) => attempt.order))) {
    const breach = breachOfOrder(world, scope, order);
    if (breach) return breach;
  }
  return null;
}

function breachOfOrder(world: World, scope: Scope, order: string): Breach | null {
  const attempt = lastOf(world, order);
  const charges = standing(world, order);
  if (!attempt || isHidden(world, scope)) return null;
  const isAlarmed = world.disk.alarms.includes("payment-unknown");
  if (charges > 1 && !isAlarmed && !cannotBeKnown(world, order, scope)) {
    return {
      law: "no card is charged twice for one order",
      what: `the bank has ${order} ${charges} times, and no alarm names it`,
    };
  }
  switch (answerOf(attempt.state.phase)) {
    case "charged":
      return breachOfCharged(world, order);
    case "not charged":
      if (charges === 0 || cannotBeKnown(world, order, scope)) return null;
      return {
        law: "no charge is reported as not paid",
        what: `${order} stays not charged while the bank has it`,
      };
    case "unknown":
      if (unknownRows.some(({ applies }) => applies(world, order, scope))) return null;
      return {
        law: "what the terminal can prove does not stay unknown",
        what: `${order} stays Unknown, and no row allows it`,
      };
    default:
      return null;
  }
}

function breachOfCharged(world: World, order: string): Breach | null {
  const { state } = lastOf(world, order) ?? {};
  const entry = state?.phase === "charged" ? entryOf(state.report) : null;
  const paid = entry === null ? undefined : world.device.entries[entry];
  const paidBy = paid?.order;
  // Two equal sales without a report: the terminal's record names neither order.
  const isUnheard = paid?.late === true && !world.disk.heardOf.includes(entry ?? -1);
  if (paidBy !== order && !isUnheard) {
    return {
      law: "an order is settled with its own transaction only",
      what: `${order} is charged with the transaction of ${paidBy ?? "nobody"}`,
    };
  }
  if (entry !== null && world.device.entries[entry]?.money === "standing") return null;
  return {
    law: "an order answered as charged is charged",
    what: `${order} is answered as charged with a transaction that the bank does not have`,
  };
}

/**
 * The terminal has shown nothing of the sale and cannot any more, or an alarm reported a sale for
 * which no order could be named.
 */
function cannotBeKnown(world: World, order: string, scope: Scope): boolean {
  const unproved = world.disk.attempts.some(
    (each) => each.order === order && !each.heard.proved && each.state.phase !== "charged",
  );
  const isStale = struckBy("repeats an older receipt")(world);
  const wasFilled = scope.character.emptyAtFirst && struckBy("empties its storage")(world);
  if (isHidden(world, scope) || (unproved && (isStale || wasFilled))) return true;
  return raisedAlarm(world) && isAmbiguous(world, order);
}

/** More than one attempt can have made the sale, or its storage and names prove nothing. */
function isAmbiguous(world: World, order: string): boolean {
  const { attempts, closings } = world.disk;
  const first = attempts.findIndex((attempt) => attempt.order === order);
  const isOnly = first === attempts.length - 1;
  const isNamed = !struckBy("spells ", "repeats ", "empties ", "charges ")(world);
  return !isOnly || closings.length > 0 || !isNamed;
}

const alarms = [
  "sale-without-order",
  "sale-without-order-unclear",
  "second-sale-in-payment",
  "order-charged-twice",
];

function raisedAlarm({ disk }: World): boolean {
  return disk.alarms.some((name) => alarms.includes(name));
}

/** The terminal never shows the sale; only its totals and its next receipt number do. */
function isHidden({ device }: World, { character }: Scope): boolean {
  return character.hides && device.entries.length > 1;
}

/** Charges of an order that stand, and that a connector could know. */
function standing(world: World, order: string): number {
  const { device, disk } = world;
  const isCovered = (index: number): boolean =>
    !disk.heardOf.includes(index) && device.entries.some(({ late }, at) => at > index && late);
  return device.entries.filter(
    (entry, index) =>
      entry.order === order &&
      entry.money === "standing" &&
      entry.original === null &&
      (entry.late ? isReported(world, index) : !isCovered(index)),
  ).length;
}

/**
 * The connector has met the sale by a name: as a result that nobody asked for, or when it read a
 * baseline.
 */
function isReported({ disk }: World, index: number): boolean {
  const reported = [
    ...disk.unmatched.filter(({ finding }) => finding !== "open").map(({ report }) => report),
    ...disk.attempts.flatMap(({ baseline: { last } }) =>
      last.kind === "transaction" ? [last.report] : [],
    ),
  ];
  return reported.some((report) => report.traceNumber !== null && entryOf(report) === index);
}

function lastOf({ disk }: World, order: string): World["disk"]["attempts"][number] | undefined {
  return disk.attempts.findLast((attempt) => attempt.order === order);
}

function answerOf(phase: string): KioskAnswer {
  if (phase === "charged" || phase === "reversed") return phase;
  return phase === "not-charged" ? "not charged" : "unknown";
}
