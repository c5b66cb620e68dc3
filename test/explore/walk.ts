import { identity } from "../support/terminals/reports.ts";
import { Connector } from "./connector.ts";
import { type Character, newDevice } from "./device.ts";
import { momentOf, reportOf } from "./entry-reports.ts";
import type { Judges } from "./judges.ts";
import { type Breach, breachAtRest, breachOfMove } from "./laws.ts";
import { movesOf } from "./moves.ts";
import { canSellNext } from "./next-sale.ts";
import type { Scope } from "./scope.ts";
import { StateKeys } from "./state-key.ts";
import type { World } from "./world.ts";

export interface Walked {
  readonly scope: string;
  readonly states: number;
  readonly moves: number;
  /** The most moves from the beginning to a state. */
  readonly depth: number;
  /** The limit of states was reached before every state was seen. */
  readonly isCut: boolean;
  /** One for each law that was broken under each kind of fault, by the shortest way. */
  readonly found: readonly ShortestBreach[];
}

export interface ShortestBreach extends Breach {
  /** The shortest way to it, one line for each move. */
  readonly steps: readonly string[];
}

interface Limits {
  readonly statesMax?: number;
  /** Ends with the first breach. */
  readonly stopAtFirst?: boolean;
}

/** Visits every world that a scope can reach, the near ones first. */
export function walk(scope: Scope, judges: Judges, limits: Limits = {}): Walked {
  return new Walk(scope, judges, limits).go();
}

class Walk {
  readonly #scope: Scope;
  readonly #connector: Connector;
  readonly #limits: Limits;
  readonly #keys = new StateKeys();
  readonly #known = new Map<string, number>();
  readonly #from: number[] = [];
  readonly #says: number[] = [];
  readonly #sentences = new Map<string, number>();
  readonly #found = new Map<string, ShortestBreach>();
  /** Pairs of states: from the first one nothing but time leads to the second. */
  readonly #goesOn: number[] = [];
  readonly #atRest: number[] = [];
  #moves = 0;

  constructor(scope: Scope, judges: Judges, limits: Limits) {
    this.#scope = scope;
    this.#connector = new Connector(judges);
    this.#limits = limits;
  }

  go(): Walked {
    const { statesMax = Number.POSITIVE_INFINITY, stopAtFirst = false } = this.#limits;
    let depth = 0;
    let layer: Array<[number, World]> = [
      [this.#add(this.#keys.of(first(this.#scope)), -1, ""), first(this.#scope)],
    ];
    let isCut = false;
    while (layer.length > 0) {
      const nextLayer: Array<[number, World]> = [];
      for (const [index, world] of layer) {
        this.#visit(index, world, nextLayer);
        if (stopAtFirst && this.#found.size > 0) return this.#result(depth, true);
      }
      if (nextLayer.length > 0) depth += 1;
      isCut = this.#known.size > statesMax;
      if (isCut) break;
      layer = nextLayer;
    }
    if (!isCut) this.#findEndless();
    return this.#result(depth, isCut);
  }

  #visit(index: number, world: World, nextLayer: Array<[number, World]>): void {
    let rests = true;
    for (const move of movesOf(world, this.#scope, this.#connector)) {
      this.#moves += 1;
      const key = this.#keys.of(move.next);
      const known = this.#known.get(key);
      const goesOn = move.by === "connector" || move.by === "terminal";
      const to = known ?? this.#add(key, index, move.says);
      if (goesOn && to !== index) {
        rests = false;
        this.#goesOn.push(index, to);
      }
      const breach = breachOfMove(world, move, this.#scope);
      if (breach) {
        this.#break(breach, move.next, [...this.#stepsTo(index), move.says]);
        this.#atRest.push(to);
      } else if (known === undefined) nextLayer.push([to, move.next]);
    }
    if (!rests) return;
    this.#atRest.push(index);
    const breach = breachAtRest(world, this.#scope) ?? this.#lastSale(world);
    if (breach) this.#break(breach, world, this.#stepsTo(index));
  }

  #lastSale(world: World): Breach | null {
    const { kiosk, device } = world;
    const isOpen = kiosk.request !== null || device.lock !== null || device.process.at !== "idle";
    if (isOpen || canSellNext(world, this.#connector)) return null;
    return { law: "a next sale is possible again", what: "no other customer can pay any more" };
  }

  /** From every world time alone must lead to one in which nothing is left to do. */
  #findEndless(): void {
    const before = new Map<number, number[]>();
    for (let i = 0; i < this.#goesOn.length; i += 2) {
      const [from, to] = [this.#goesOn[i] as number, this.#goesOn[i + 1] as number];
      const list = before.get(to);
      if (list) list.push(from);
      else before.set(to, [from]);
    }
    const comesToRest = new Set(this.#atRest);
    const open = [...this.#atRest];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      for (const from of before.get(state) ?? []) {
        if (comesToRest.has(from)) continue;
        comesToRest.add(from);
        open.push(from);
      }
    }
    const goingOn = new Set(this.#goesOn.filter((_, i) => i % 2 === 0));
    const endless = [...goingOn]
      .filter((state) => !comesToRest.has(state))
      .sort((a, b) => a - b)[0];
    if (endless === undefined) return;
    const breach = { law: "a next sale is possible again", what: "something is asked for ever" };
    this.#break(breach, null, this.#stepsTo(endless));
  }

  /** The first one of its kind is kept: a law, and what had struck. */
  #break(breach: Breach, world: World | null, steps: readonly string[]): void {
    const kind = [breach.law, ...(world?.left.struck ?? [])].join();
    if (!this.#found.has(kind)) this.#found.set(kind, { ...breach, steps });
  }

  #add(key: string, from: number, says: string): number {
    const index = this.#known.size;
    this.#known.set(key, index);
    this.#from.push(from);
    const code = this.#sentences.get(says) ?? this.#sentences.size;
    this.#sentences.set(says, code);
    this.#says.push(code);
    return index;
  }

  #stepsTo(index: number): string[] {
    const sentences = [...this.#sentences.keys()];
    const steps: string[] = [];
    for (let at = index; at > 0; at = this.#from[at] as number) {
      steps.push(sentences[this.#says[at] as number] as string);
    }
    return steps.reverse();
  }

  #result(depth: number, isCut: boolean): Walked {
    const { name: scope } = this.#scope;
    const found = [...this.#found.values()];
    return { scope, states: this.#known.size, moves: this.#moves, depth, isCut, found };
  }
}

function first({ character, orders, losses, crashes, late, locks, quirks }: Scope): World {
  return {
    device: newDevice(character),
    line: { message: null },
    disk: { ...earlier(character), unmatched: [], closings: [], alarms: [], heardOf: [] },
    ram: { run: null, baseline: null, inquiries: [], isCancelled: false, isLockedOut: false },
    kiosk: {
      request: null,
      answers: Object.fromEntries(orders.map((order) => [order, "nothing"] as const)),
      asked: Object.fromEntries(orders.map((order) => [order, 0])),
    },
    left: { losses, crashes, late, locks, quirks: quirks.length > 0 ? 1 : 0, struck: [] },
  };
}

/** The journal from before: the terminal's last sale is one of ours, or of a register before us. */
function earlier(character: Character): Pick<World["disk"], "attempts" | "records"> {
  const { entries, spelling } = newDevice(character);
  if (!character.knowsEarlier || entries.length === 0) return { attempts: [], records: [] };
  const record = reportOf(entries, 0, spelling);
  const baseline = { identity, last: { kind: "none" }, clockOffsetMs: 0 } as const;
  const heard = { end: "good", proved: true, good: true, cut: false } as const;
  const state = { phase: "charged", report: record, by: "payment" } as const;
  const atMs = momentOf(0).getTime();
  const events = [
    { atMs, kind: "report", detail: { report: record } },
    { atMs, kind: "end-completed", detail: {} },
  ];
  const times = { startedAtMs: atMs, endedAtMs: atMs, events };
  const kept = { number: 1, asked: false, served: true, heard };
  return {
    attempts: [{ order: "earlier", state, baseline, ...times, ...kept }],
    records: [{ record, transactionId: "0", source: "step", atMs }],
  };
}
