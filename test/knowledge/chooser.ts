import type { Assumption, Dimension } from "./assumptions.ts";

export type Needs = Assumption | Dimension;
/** A course of events, with what a scope must allow for it where it needs something. */
export type Option = string | readonly [name: string, needs: Needs];

export interface Choice {
  readonly point: string;
  readonly taken: string;
}

/** Decides what nobody but the world knows. */
export interface Chooser {
  /** The first option is normal life. A point that is free is no fault, whatever is taken. */
  choose(point: string, options: readonly Option[], isFree?: boolean): string;
  /** Whether a scope has such worlds. */
  has(needs: Needs): boolean;
}

interface Point {
  readonly options: readonly Option[];
  readonly index: number;
  readonly isFree: boolean;
}

/** Takes a given way, and then normal life or what `further` says; keeps what could be taken. */
export class PathChooser implements Chooser {
  readonly points: Point[] = [];
  readonly choices: Choice[] = [];
  readonly has: (needs: Needs) => boolean;
  readonly #way: readonly number[];
  readonly #further: (options: number, isFree: boolean) => number;

  constructor(
    has: (needs: Needs) => boolean,
    way: readonly number[],
    further: (options: number, isFree: boolean) => number = () => 0,
  ) {
    this.has = has;
    this.#way = way;
    this.#further = further;
  }

  choose(point: string, all: readonly Option[], isFree = false): string {
    const options = all.filter((each) => typeof each === "string" || this.has(each[1]));
    const at = this.points.length;
    const index = this.#way[at] ?? this.#further(options.length, isFree);
    const option = options[index];
    if (option === undefined) throw new Error(`no way ${index} at ${point}`);
    this.points.push({ options, index, isFree });
    const taken = typeof option === "string" ? option : option[0];
    this.choices.push({ point, taken });
    return taken;
  }

  get way(): number[] {
    return this.points.map(({ index }) => index);
  }

  /** What is not normal life in it. */
  get faults(): string[] {
    const strikes = ({ index, isFree }: Point): boolean => index > 0 && !isFree;
    return this.choices
      .filter((_, at) => strikes(this.points[at] as Point))
      .map(({ point, taken }) => `${point}: ${taken}`);
  }

  /** What of it a scope alone makes possible. */
  get needed(): Set<Needs> {
    const taken = this.points.map(({ options, index }) => options[index]);
    return new Set(taken.flatMap((each) => (typeof each === "object" ? [each[1]] : [])));
  }

  /** The ways that differ from this one in one choice after the given ones. */
  get siblings(): Sibling[] {
    const { way } = this;
    return this.points.flatMap(({ options, isFree }, at) =>
      at < this.#way.length
        ? []
        : options.slice(1).map((option, other) => ({
            way: [...way.slice(0, at), other + 1],
            isFree,
            needs: typeof option === "string" ? null : option[1],
          })),
    );
  }
}

interface Sibling {
  readonly way: number[];
  /** It is no fault. */
  readonly isFree: boolean;
  readonly needs: Needs | null;
}
