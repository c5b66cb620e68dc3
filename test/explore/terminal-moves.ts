import type { Connector } from "./connector.ts";
import { type Character, charge, type Device, keep, type Process, takeBack } from "./device.ts";
import { notGood, reportOf } from "./entry-reports.ts";
import type { Add, Quirk, Scope } from "./scope.ts";
import { struck, type World } from "./world.ts";

/** The terminal's own moves: it works, says what it did, takes answers, and has its quirks. */
export function terminalMoves(world: World, scope: Scope, connector: Connector, add: Add): void {
  if (world.line.message) {
    delivery(world, connector, add);
    return;
  }
  const { process, swapped } = world.device;
  if (swapped) {
    add("terminal", "the own terminal is back", ({ device }) => {
      device.swapped = false;
      return undefined;
    });
  }
  switch (process.at) {
    case "idle":
      late(world, add);
      return;
    case "paying":
      paying(process, world, add);
      return;
    case "reported":
      return;
    case "accepted":
      accepted(process, scope, world, add);
      return;
    case "refused":
      refused(process, scope, world, add);
      return;
    case "unanswered":
      unanswered(process.entry, scope, add);
      return;
    case "ending":
      add("terminal", process.good ? "it says 06 0F" : "it says 06 1E", (next) =>
        says(next, process.good ? "completion" : "abort"),
      );
  }
}

export function answersQuestions({ process }: Device, { answersWhilePaying }: Character): boolean {
  if (process.at === "paying") return answersWhilePaying;
  return process.at === "idle" || process.at === "unanswered";
}

function delivery({ line }: World, connector: Connector, add: Add): void {
  const { message } = line;
  if (message?.to === "terminal") {
    const about = message.what === "payment" ? `the payment of ${message.order}` : message.what;
    add("terminal", `it gets: ${about}`, (next) => {
      next.line.message = null;
      receive(next.device, message.what, message.what === "payment" ? message.order : "");
      return undefined;
    });
  }
  if (message?.to === "register") {
    add("connector", `the connector gets and writes: ${message.what}`, (next) => {
      next.line.message = null;
      if (message.what === "report") return connector.report(next, message.report);
      if (message.what === "print") return connector.acknowledged(next);
      return connector.end(next, message.what);
    });
  }
}

function receive(device: Device, what: "payment" | "accept" | "refuse", order: string): void {
  const { process } = device;
  if (what === "payment") {
    // docs/zvt.md 5.3: a locked terminal takes the command and ends it.
    device.process =
      device.lock === null
        ? { at: "paying", order, alone: false }
        : { at: "ending", reports: false, good: false };
    return;
  }
  if (process.at === "ending") return;
  if (process.at !== "reported") throw new Error(`an answer while ${process.at}`);
  const { entry, late } = process;
  if (what === "refuse") device.process = { at: "refused", entry, late };
  else {
    keep(device, entry, { hides: false });
    device.process = { at: "accepted", entry, printed: false };
  }
}

type At<P extends Process["at"]> = Extract<Process, { at: P }>;

function paying({ order, alone }: At<"paying">, { left }: World, add: Add): void {
  add("terminal", `the bank approves ${order}`, (next) => {
    const entry = charge(next.device, order);
    if (alone) next.device.process = { at: "unanswered", entry };
    else reports(next, entry, false);
    return undefined;
  });
  if (alone && left.late > 0) {
    add("terminal", `the bank approves ${order}, and it says so on the new line`, (next) => {
      next.left.late -= 1;
      reports(next, charge(next.device, order), true);
      return undefined;
    });
  }
  add("terminal", alone ? "the customer goes" : "the customer goes: it says 06 1E", (next) => {
    if (!alone) says(next, "abort");
    next.device.process = { at: "idle" };
    if (left.late > 0) next.device.mayBeLate = order;
    return undefined;
  });
  if (alone) return;
  add("terminal", "the bank declines: it says 04 0F 6C", (next) => {
    next.line.message = { to: "register", what: "report", report: notGood };
    next.device.process = { at: "ending", reports: false, good: false };
    return undefined;
  });
}

function late(world: World, add: Add): void {
  const { mayBeLate, lock, swapped } = world.device;
  const isAble = lock === null && !swapped && world.ram.run === null && world.left.late > 0;
  if (mayBeLate === null || !isAble) return;
  add("fault", `the bank approves ${mayBeLate} after its end: it says 04 0F`, (next) => {
    next.left.late -= 1;
    next.device.mayBeLate = null;
    reports(next, charge(next.device, mayBeLate, { late: true }), true);
    return undefined;
  });
}

function accepted(process: At<"accepted">, scope: Scope, world: World, add: Add): void {
  const { entry, printed } = process;
  if (scope.character.prints && !printed) {
    add("terminal", "it prints", (next) => {
      next.device.process = { ...process, printed: true };
      return says(next, "print", true);
    });
  } else add("terminal", "it says 06 0F", (next) => says(next, "completion"));
  quirk(world, scope, "takes the sale back", add, (next) => {
    takeBack(next.device, entry, scope.character.storesReversals);
    return contradict(next);
  });
  quirk(world, scope, "says that it took the sale back", add, contradict);
  quirk(world, scope, "charges a second time", add, (next) => {
    const order = next.device.entries[entry]?.order ?? "";
    reports(next, charge(next.device, order), false);
    return undefined;
  });
}

/** After a good report: 04 0F 6C, then 06 1E. */
function contradict(next: World): undefined {
  next.line.message = { to: "register", what: "report", report: notGood };
  next.device.process = { at: "ending", reports: false, good: false };
}

function refused(process: At<"refused">, scope: Scope, world: World, add: Add): void {
  const { entry, late } = process;
  const { character } = scope;
  const keeps = (next: World): undefined => {
    keep(next.device, entry, character);
    ends(next, late);
  };
  if (character.refused === "kept") {
    add("terminal", "it keeps the sale that was refused", keeps);
    return;
  }
  add("terminal", "it takes the refused sale back", (next) => {
    takeBack(next.device, entry, character.storesReversals);
    return ends(next, late);
  });
  quirk(world, scope, "keeps what was refused", add, keeps);
}

function ends({ device }: World, late: boolean): undefined {
  device.process = late ? { at: "idle" } : { at: "ending", reports: false, good: false };
}

function unanswered(entry: number, { character }: Scope, add: Add): void {
  if (character.unanswered === "kept") {
    add("terminal", "it keeps the sale that was not answered", ({ device }) => {
      keep(device, entry, character);
      device.process = { at: "idle" };
      return undefined;
    });
    return;
  }
  add("terminal", "it takes the sale back that was not answered", ({ device }) => {
    takeBack(device, entry, character.storesReversals);
    device.process = { at: "idle" };
    return undefined;
  });
}

function reports(next: World, entry: number, isLate: boolean): void {
  const { device, line } = next;
  const report = reportOf(device.entries, entry, device.spelling);
  line.message = { to: "register", what: "report", report };
  device.process = { at: "reported", entry, late: isLate };
}

function says(next: World, what: "print" | "completion" | "abort", goesOn = false): undefined {
  next.line.message = { to: "register", what };
  if (!goesOn) next.device.process = { at: "idle" };
}

/** A quirk of the terminal in the middle of its work; one may strike in a walk, once. */
function quirk(
  { left }: World,
  { quirks }: Scope,
  name: Quirk,
  add: Add,
  change: (next: World) => undefined,
): void {
  if (left.quirks === 0 || !quirks.includes(name)) return;
  add("fault", `the terminal ${name}`, (next) => {
    next.left.quirks -= 1;
    struck(next, name);
    return change(next);
  });
}
