import type { OneWayConnector } from "./one-way-connector.ts";
import type { OneWayScope, OneWayWorld, Result } from "./one-way-world.ts";

interface OneWayMove {
  /** "time": goes on by itself. */
  readonly by: "kiosk" | "time" | "fault";
  readonly says: string;
  readonly world: OneWayWorld;
}

type Add = (by: OneWayMove["by"], says: string, change: (next: OneWayWorld) => void) => void;

const UNMATCHED_MINOR = 4_321;

/** Every move that is possible in a world. */
export function oneWayMoves(
  world: OneWayWorld,
  scope: OneWayScope,
  connector: OneWayConnector,
): OneWayMove[] {
  const moves: OneWayMove[] = [];
  const add: Add = (by, says, change) => {
    const next = structuredClone(world);
    change(next);
    moves.push({ by, says, world: next });
  };
  kiosk(world, scope, connector, add);
  register(world, scope, connector, add);
  terminal(world, scope, add);
  results(world, connector, add);
  faults(world, scope, connector, add);
  return moves;
}

function kiosk(
  { run, questions, device, answers, asked }: OneWayWorld,
  scope: OneWayScope,
  connector: OneWayConnector,
  add: Add,
): void {
  // The opening is refused while the terminal is busy, and nothing is sold before a question.
  if (run || questions.length > 0 || device.paying !== null) return;
  for (const order of Object.keys(scope.orders)) {
    const times = asked[order] ?? 0;
    if (times >= scope.asks || answers[order] === "charged") continue;
    add("kiosk", `the kiosk asks for ${order}${times > 0 ? " again" : ""}`, (next) => {
      if (scope.isBare) next.device.results = [];
      next.asked[order] = times + 1;
      connector.admit(next, order);
    });
  }
}

function register(
  { run, questions, device, attempts }: OneWayWorld,
  { isBare }: OneWayScope,
  connector: OneWayConnector,
  add: Add,
): void {
  if (run?.at === "told") add("time", "its end is written", (next) => connector.end(next, "told"));
  if (run?.at === "unclear") add("time", "it ends unclear", (next) => connector.end(next, "lost"));
  if (run?.at === "waiting") {
    add("time", "the time limit is over: 504", (next) => connector.end(next, "lost"));
  }
  const [asked] = questions;
  if (asked === undefined || run || device.paying !== null) return;
  add("time", `the terminal answers; ${attempts[asked]?.order} stays unknown`, (next) => {
    next.questions.shift();
    if (isBare) next.device.results = [];
  });
}

function terminal({ run, device }: OneWayWorld, scope: OneWayScope, add: Add): void {
  // A result that is repeated comes before the next request is taken.
  const isRepeating = device.results.some(({ isRepeat }) => isRepeat);
  if (run?.at === "speaking" && device.paying === null && !isRepeating) {
    add("time", "the terminal takes the request", (next) => {
      next.device.paying = run.attempt;
      next.run = { attempt: run.attempt, at: "waiting" };
    });
  }
  if (device.paying === null) return;
  const attempt = device.paying;
  add("time", "the customer pays", (next) => charge(next, scope, attempt, {}));
  add("time", "the customer is declined", (next) => {
    finish(next, { ...plain(next, scope, attempt), says: "declined" });
  });
}

/** The results that the terminal has still to report, oldest first. */
function results({ device }: OneWayWorld, connector: OneWayConnector, add: Add): void {
  const [result] = device.results;
  if (!result) return;
  const what = `it reports "${result.says}"${result.isRepeat ? " again" : ""}`;
  add("time", what, (next) => {
    if (hears(next, result, connector)) next.device.results.shift();
  });
}

function faults(
  world: OneWayWorld,
  scope: OneWayScope,
  connector: OneWayConnector,
  add: Add,
): void {
  const { left, run, device, questions } = world;
  if (left.losses > 0) losses(world, connector, add);
  if (left.crashes > 0 && (run || questions.length > 0 || device.results.length > 0)) {
    add("fault", "the connector crashes and starts again", (next) => {
      next.left.crashes -= 1;
      if (scope.isBare) next.device.results = [];
      connector.crash(next);
    });
  }
  if (left.odd > 0 && device.paying !== null) odd(world, scope, device.paying, add);
  if (left.unmatched > 0 && device.paying === null && !scope.isBare) {
    add("fault", "a card is charged that nobody asked for", (next) => {
      next.left.unmatched -= 1;
      next.bank.push({ order: null, amountMinor: UNMATCHED_MINOR });
      const unmatched = { attempt: null, named: null, says: "approved", isRepeat: false } as const;
      next.device.results.push({ ...unmatched, amountMinor: UNMATCHED_MINOR });
    });
  }
}

function losses({ run, device }: OneWayWorld, connector: OneWayConnector, add: Add): void {
  const lose: Add = (by, says, change) =>
    add(by, says, (next) => {
      next.left.losses -= 1;
      change(next);
    });
  if (run?.at === "speaking") {
    lose("fault", "the request is lost", (next) => {
      next.run = { attempt: run.attempt, at: "waiting" };
    });
    lose("fault", "the request is refused", (next) => connector.end(next, "refused"));
  }
  const [result] = device.results;
  if (!result) return;
  lose("fault", "the result is lost", (next) => void next.device.results.shift());
  lose("fault", "the result is reported, and its ACK is lost", (next) => {
    hears(next, result, connector);
    next.device.results[0] = { ...result, isRepeat: true };
  });
}

function odd(world: OneWayWorld, scope: OneWayScope, attempt: number, add: Add): void {
  const strike = (says: string, change: (next: OneWayWorld) => void): void =>
    add("fault", says, (next) => {
      next.left.odd -= 1;
      change(next);
    });
  strike("the customer pays another amount", (next) => {
    next.confused.push(attempt);
    const { amountMinor } = plain(next, scope, attempt);
    charge(next, scope, attempt, { amountMinor: amountMinor + 1 });
  });
  strike("the customer pays, and the terminal says nothing clear", (next) => {
    charge(next, scope, attempt, { says: "nothing clear" });
  });
  strike("the customer pays, and the terminal says first that the result comes later", (next) => {
    charge(next, scope, attempt, {});
    const own = next.device.results.at(-1);
    if (own) next.device.results.splice(-1, 0, { ...own, says: "later" });
  });
  const other = world.attempts.findIndex(({ order }) => order !== world.attempts[attempt]?.order);
  if (other < 0) return;
  strike("the customer pays, and the result names another order", (next) => {
    next.confused.push(attempt, other);
    charge(next, scope, attempt, { named: other });
  });
}

/** The result that the terminal should report. */
function plain({ attempts }: OneWayWorld, { orders }: OneWayScope, attempt: number): Result {
  const amountMinor = orders[attempts[attempt]?.order ?? ""] ?? 0;
  return { attempt, named: null, says: "approved", amountMinor, isRepeat: false };
}

function charge(
  next: OneWayWorld,
  scope: OneWayScope,
  attempt: number,
  change: Partial<Result>,
): void {
  const result = { ...plain(next, scope, attempt), ...change };
  const order = next.attempts[attempt]?.order ?? "";
  next.bank.push({ order, amountMinor: result.amountMinor });
  finish(next, result);
}

function finish(next: OneWayWorld, result: Result): void {
  next.device.paying = null;
  next.device.results.push(result);
}

function hears(next: OneWayWorld, result: Result, connector: OneWayConnector): boolean {
  // A register that waits takes what names nobody for its own.
  if (result.attempt === null && next.run) next.confused.push(next.run.attempt);
  const isStored = connector.hear(next, result);
  if (isStored) noteAck(next, result);
  return isStored;
}

function noteAck(next: OneWayWorld, { attempt, says, named }: Result): void {
  const isClear = says === "approved" || says === "declined";
  if (attempt === null || !isClear || named !== null) return;
  if (!next.acknowledged.includes(attempt)) next.acknowledged.push(attempt);
}
