import type { Connector } from "./connector.ts";
import { faults } from "./faults.ts";
import { T4_MS } from "./judges.ts";
import type { Add, Move, Scope } from "./scope.ts";
import { answersQuestions, terminalMoves } from "./terminal-moves.ts";
import { copyOf, nowMs, type World } from "./world.ts";

/** Every move that is possible in a world: the walk takes each. */
export function movesOf(world: World, scope: Scope, connector: Connector): Move[] {
  const moves: Move[] = [];
  const add: Add = (by, says, change) => {
    const next = copyOf(world);
    const more = change(next);
    moves.push({ by, says: more === undefined ? says : `${says}: ${more}`, next });
  };
  kioskMoves(world, scope, connector, add);
  connectorMoves(world, connector, add);
  probes(world, scope, connector, add);
  cures(world, scope, connector, add);
  waits(world, connector, moves);
  terminalMoves(world, scope, connector, add);
  faults(world, scope, connector, add);
  return moves;
}

function kioskMoves(world: World, scope: Scope, connector: Connector, add: Add): void {
  const { kiosk, device } = world;
  const { request } = kiosk;
  if (request) {
    cancels(world, scope, add);
    const open = request.stage === "runs" || request.stage === "asks";
    if (!scope.impatient || !open) return;
    add("kiosk", `the kiosk waits no longer for ${request.order} and gets Unknown`, (next) => {
      next.kiosk.answers[request.order] = "unknown";
      next.kiosk.request = null;
      return undefined;
    });
    return;
  }
  // A terminal that cannot pay refuses before anything has left, and the kiosk comes again.
  if (device.lock !== null || device.swapped) return;
  for (const order of scope.orders) {
    const asked = kiosk.asked[order] ?? 0;
    if (asked >= scope.asks || kiosk.answers[order] === "charged") continue;
    add("kiosk", `the kiosk asks for ${order}${asked > 0 ? " again" : ""}`, (next) => {
      next.kiosk.asked[order] = asked + 1;
      connector.admit(next, order);
      const reply = next.kiosk.answers[order];
      return next.kiosk.request || reply === "nothing" ? undefined : `it is answered "${reply}"`;
    });
  }
}

/** The terminal takes the wish for a cancel while its customer has not paid yet. */
function cancels({ ram, device }: World, scope: Scope, add: Add): void {
  if (!scope.cancels || ram.run === null || ram.isCancelled) return;
  add("kiosk", "the kiosk cancels", (next) => {
    next.ram.isCancelled = true;
    return device.process.at === "paying" ? "the terminal gets the cancel" : "too late";
  });
}

function connectorMoves(world: World, connector: Connector, add: Add): void {
  const { ram, kiosk, line, device } = world;
  const { request } = kiosk;
  const isFree = ram.run === null && line.message === null;
  if (request?.stage === "prepare" && isFree && device.process.at === "idle") {
    add("connector", "the baseline is read", (next) => {
      connector.prepare(next);
      return undefined;
    });
  }
  if (request?.stage === "ready" && isFree) {
    add("connector", "the write-ahead record is on disk and the command leaves", (next) => {
      connector.begin(next);
      return next.kiosk.request ? undefined : "no, an attempt is in doubt";
    });
  }
  if (request?.stage === "runs" && connector.isAnswerable(world)) {
    add("connector", `the kiosk gets the answer for ${request.order}`, (next) => {
      connector.answer(next);
      return next.kiosk.answers[request.order];
    });
  }
  if (request?.stage === "asks" && !connector.isAsking(world, request.order)) {
    add("connector", `the question about ${request.order} has ended`, (next) => {
      connector.asked(next);
      return next.kiosk.request ? "it is paid now" : next.kiosk.answers[request.order];
    });
  }
}

/** The oldest question goes to the terminal when nothing else has it. */
function probes(world: World, scope: Scope, connector: Connector, add: Add): void {
  const { ram, kiosk, line } = world;
  const stage = kiosk.request?.stage;
  const isTaken = ram.run !== null || line.message !== null || stage === "prepare";
  if (connector.due(world).length === 0 || isTaken || stage === "ready") return;
  if (!answersQuestions(world.device, scope.character)) return;
  add("connector", "the terminal is asked for its last transaction", (next) =>
    connector.probe(next),
  );
}

/** A wait is as long as the terminal can take for what it waits for. */
function waits(world: World, connector: Connector, moves: Move[]): void {
  const { process } = world.device;
  for (const inquiry of world.ram.inquiries) {
    const { waits: wait, about, index } = inquiry;
    const isOver = wait === "limit" ? process.at === "idle" : process.at !== "unanswered";
    if (wait === null || !isOver) continue;
    const next = copyOf(world);
    connector.waited(next, inquiry);
    if (wait === "limit") passLimit(next);
    const says = wait === "limit" ? "the payment's own time limit passes" : "the pause passes";
    moves.push({
      by: "connector",
      says,
      next,
      ...(about === "attempt" ? { waited: { wait, attempt: index } } : {}),
    });
  }
}

/** What is stored at all is stored within the limit (fresh-storage); a little later sales go on. */
function passLimit({ device }: World): void {
  device.second += (T4_MS + 20_000) / 1_000;
  device.mayBeLate = null;
}

/** Locks are cured when nothing uses the terminal and nothing is asked about. */
function cures(world: World, scope: Scope, connector: Connector, add: Add): void {
  const { lock, process } = world.device;
  const isFree = world.ram.run === null && world.line.message === null && process.at === "idle";
  if (lock === null || !isFree || !connector.mayCure(world)) return;
  add("connector", `the connector cures the lock (${lock})`, (next) => {
    next.device.lock = null;
    if (lock === "end of day") close(next, scope);
    return undefined;
  });
}

function close({ disk, device, left }: World, { character }: Scope): void {
  disk.closings.push(nowMs({ device }));
  device.second += 1;
  if (character.closingEmpties) {
    device.stored = null;
    device.before = null;
  }
  if (device.stored !== null) return;
  left.struck = [...new Set([...left.struck, "closed"])].sort();
}
