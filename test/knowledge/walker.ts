import { Random } from "../support/inputs/random.ts";
import { PathChooser } from "./chooser.ts";
import { judge, laws, truthOf, type Violation } from "./judge.ts";
import { KeptJournal } from "./kept-journal.ts";
import { has, isShared, missing, type Scope } from "./scope.ts";
import { terminalOf } from "./terminals.ts";
import type { Timeline, Verdict } from "./timeline.ts";
import { World } from "./world.ts";

/** Worlds that look alike up to a word about an order, or up to a command for it. */
interface Group {
  readonly says: Verdict["says"] | "leaves";
  readonly because: string;
  readonly atRest: boolean;
  /** The first world in which the order is charged, and the first in which it is not. */
  readonly charged: Map<boolean, readonly number[]>;
}

interface UnexplainedViolation extends Violation {
  readonly timeline: Timeline;
  /** A world that looked the same, and in which it was not wrong. */
  twin?: readonly number[] | undefined;
}

export interface Walked {
  readonly scope: Scope;
  /** With those that are worlds of a smaller scope, and only lead to others. */
  played: number;
  worlds: number;
  /** Nothing is left to be walked in this scope. */
  isWhole: boolean;
  readonly groups: Map<string, Group>;
  /** The ways that no smaller one of the same law explains. */
  readonly found: UnexplainedViolation[];
  /** Worlds with a violation. */
  broken: number;
  /** Orders at rest, and those of them that are unknown. */
  rested: number;
  unknown: number;
}

/** More are not put together: a night of worlds has to fit into the memory. */
const GROUPS_MAX = 400_000;

interface Way {
  readonly way: readonly number[];
  readonly missing: number;
}

export class Walker {
  readonly #journal: KeptJournal;

  /** `path`: of a journal that is wiped after each world. */
  constructor(path: string) {
    this.#journal = new KeptJournal(path);
  }

  /** One world: its way, then normal life or what `further` says. */
  async play(
    scope: Scope,
    way: readonly number[],
    further?: (options: number, isFree: boolean) => number,
  ): Promise<{ readonly timeline: Timeline; readonly chooser: PathChooser }> {
    const chooser = new PathChooser((needs) => has(scope, needs), way, further);
    const day = chooser.choose("the day", scope.days, true);
    const { family, off, believed } = scope;
    const declared = off.filter((each) => !believed.includes(each));
    const world = new World(this.#journal, chooser, { family, terminalOf, declared });
    await world.play(day);
    this.#journal.wipe();
    const { lines, charges, verdicts, leaves, alarms, fallen } = world.recorder;
    const heard = { lines, charges, verdicts, leaves, alarms, fallen };
    const { choices, way: gone, faults } = chooser;
    const timeline = { ...heard, isShared: isShared(scope), choices, way: gone, faults };
    return { timeline, chooser };
  }

  /**
   * Every world of a scope until `isOver`, the near ones first, those of one distance in an order
   * of the seed; after the last one worlds at random that are further away.
   */
  async walk(
    scope: Scope,
    seed: number,
    isOver: (walked: Walked) => boolean = ({ isWhole }) => isWhole,
  ): Promise<Walked> {
    const walked = nothing(scope);
    const random = new Random(seed);
    let layer: Way[] = [{ way: [], missing: 0 }];
    for (let faults = 0; faults <= scope.faults && layer.length > 0; faults++) {
      const next: Way[] = [];
      // Free ways lead to worlds of this very layer.
      for (let now = layer.pop(); now; now = layer.pop()) {
        if (isOver(walked)) return walked;
        const { timeline, chooser } = await this.play(scope, now.way);
        walked.played += 1;
        if (missing(scope, chooser.needed) === 0) count(walked, timeline);
        for (const { way, isFree, needs } of chooser.siblings) {
          const used = new Set([...chooser.needed, ...(needs ? [needs] : [])]);
          const left = scope.faults - faults - Number(!isFree);
          const other = { way, missing: missing(scope, used) };
          if (other.missing <= left) (isFree ? layer : next).push(other);
        }
      }
      // The worlds of the scope itself come first: the others only lead to some.
      layer = shuffled(next, random).sort((a, b) => b.missing - a.missing);
    }
    walked.isWhole = true;
    while (!isOver(walked)) await this.#draw(walked, random);
    return walked;
  }

  async #draw(walked: Walked, random: Random): Promise<void> {
    const { scope } = walked;
    let left = random.between(scope.faults + 1, scope.faults + FURTHER);
    const { timeline, chooser } = await this.play(scope, [], (options, isFree) => {
      if (isFree) return random.between(0, options - 1);
      if (left === 0 || options === 1 || !random.happens(FAULT_PROBABILITY)) return 0;
      left -= 1;
      return random.between(1, options - 1);
    });
    if (missing(scope, chooser.needed) === 0) count(walked, timeline);
  }

  close(): void {
    this.#journal.remove();
  }
}

const FAULT_PROBABILITY = 0.2;
const FURTHER = 3;

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const rest = [...list];
  for (let at = rest.length - 1; at > 0; at--) {
    const other = random.between(0, at);
    [rest[at], rest[other]] = [rest[other] as T, rest[at] as T];
  }
  return rest;
}

function nothing(scope: Scope): Walked {
  const counts = { played: 0, worlds: 0, broken: 0, rested: 0, unknown: 0 };
  return { scope, isWhole: false, groups: new Map(), found: [], ...counts };
}

function count(walked: Walked, timeline: Timeline): void {
  walked.worlds += 1;
  const violations = judge(timeline, walked.scope.believed);
  if (violations.length > 0) walked.broken += 1;
  for (const violation of violations) {
    if (!walked.found.some((known) => explains(known, violation, timeline))) {
      walked.found.push({ ...violation, timeline });
    }
  }
  for (const verdict of timeline.verdicts) {
    group(walked, timeline, `${verdict.key} ${verdict.order}`, verdict);
    if (!verdict.atRest) continue;
    walked.rested += 1;
    if (verdict.says === "unknown") walked.unknown += 1;
  }
  for (const { seq, order, attempt, key } of timeline.leaves) {
    const before = {
      seq,
      order,
      attempt: null,
      says: "leaves",
      because: "",
      atRest: false,
    } as const;
    group(walked, timeline, `${key} ${order} #${attempt}`, before);
  }
}

/** A smaller fault explains one in which more has struck. */
function explains(known: UnexplainedViolation, { law }: Violation, timeline: Timeline): boolean {
  const faults = timeline.faults.map(ofAnyOrder);
  return (
    known.law === law &&
    known.timeline.faults.map(ofAnyOrder).every((each) => faults.includes(each))
  );
}

const ofAnyOrder = (fault: string): string => fault.replaceAll(/ of [A-Z]\b|: \d+$/g, "");

function group(
  { groups }: Walked,
  timeline: Timeline,
  name: string,
  { says, because, atRest, ...about }: Omit<Verdict, "says" | "key"> & Pick<Group, "says">,
): void {
  const known = groups.get(name);
  if (!known && groups.size >= GROUPS_MAX) return;
  const charged = known?.charged ?? new Map<boolean, readonly number[]>();
  if (!known) groups.set(name, { says, because, atRest, charged });
  const truth = truthOf(timeline, about);
  if (!charged.has(truth)) charged.set(truth, timeline.way);
}

/** Of the groups at rest: how many there are, and why it said less than all its worlds agree on. */
export function completenessOf({ groups }: Walked) {
  const atRest = [...groups.values()].filter((each) => each.atRest);
  const weaker = new Map<string, number>();
  for (const { says, because, charged } of atRest) {
    if (says !== "unknown" || charged.size > 1) continue;
    weaker.set(because, (weaker.get(because) ?? 0) + 1);
  }
  return { groups: atRest.length, weaker };
}

/** A world that looks like that of a violation, and in which what was said or done is right. */
export function twinOf(
  { groups }: Walked,
  { key, order, law }: UnexplainedViolation,
): readonly number[] | undefined {
  return groups.get(`${key} ${order}`)?.charged.get(law === laws.yes);
}
