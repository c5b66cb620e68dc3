import { Random } from "../support/inputs/random.ts";
import { dimensions, revocable } from "./assumptions.ts";
import type { Chooser, Needs, Option } from "./chooser.ts";
import { judge } from "./judge.ts";
import { KeptJournal } from "./kept-journal.ts";
import { terminalOf } from "./terminals.ts";
import { World } from "./world.ts";

/** How often something happens in a shop, of each time that it could. */
const rates: Readonly<Record<string, number>> = {
  "the bank declines": 0.04,
  "the customer goes": 0.05,
  "the customer goes, and the sale is stored": 0.000_5,
  "the customer goes, and the sale is stored later": 0.000_2,
  "the line is lost, the customer goes": 0.001,
  "the line is lost, the bank approves": 0.001,
  "the line is lost, the bank approves, the sale is taken back": 0.000_5,
  "the line is lost, the bank approves and reports it on the new line": 0.000_2,
  "the line is lost, the bank approves much later": 0.000_3,
  "tp-manager is killed, the customer goes": 0.000_2,
  "tp-manager is killed, the bank approves": 0.000_2,
  "the ACK arrived, the line is lost": 0.000_5,
  "the ACK arrived and something is printed, the line is lost": 0.000_3,
  "the ACK arrived and something is printed, the line is lost, a probe is stale": 0.000_1,
  "the ACK did not arrive, the sale is kept": 0.000_2,
  "the ACK did not arrive, the sale is taken back": 0.000_5,
  "tp-manager is killed": 0.000_2,
  "it is carried out, and its end is lost": 0.02,
  "it is refused": 0.02,
  "a refusal": 0.000_5,
  nothing: 0.000_5,
  "staff sells the same amount": 0.03,
  "staff sells another amount": 0.1,
  "requests fail": 0.001,
  "the end of day, and numbers go on": 0.002,
  "tp-manager starts anew": 0.002,
};
const PRICES_MINOR = [350, 500, 700, 990];
const AGAIN_PROBABILITY = 0.4;
const REVERSED_PROBABILITY = 0.005;
const ATTEMPTS_MAX = 3;
const [NEXT_MIN_MS, NEXT_MAX_MS] = [20_000, 200_000];
const mayTry = ["Declined", "Cancelled", "Failed"];

interface ShopDays {
  /** The last answer that each customer stood before. */
  readonly atOnce: ReadonlyMap<string, number>;
  readonly atTheEnd: ReadonlyMap<string, number>;
  /** Words that were not true, by law. */
  readonly wrong: ReadonlyMap<string, number>;
  readonly alarms: ReadonlyMap<string, number>;
}

/** Many customers, one after another, at a terminal of our own or one that staff uses too. */
export async function simulateShop(
  path: string,
  shop: { readonly payments: number; readonly isShared: boolean; readonly seed: number },
  progress: (payments: number) => void = () => {},
): Promise<ShopDays> {
  const { payments, isShared, seed } = shop;
  const random = new Random(seed);
  const journal = new KeptJournal(path);
  const chooser = new RatesChooser(random, isShared);
  const declared = isShared ? (["sole-user"] as const) : [];
  const world = new World(journal, chooser, { family: "zvt", terminalOf, declared });
  const atOnce: string[] = [];
  for (let count = 1; count <= payments; count++) {
    const order = `S${count}`;
    world.amounts.set(order, random.pick(PRICES_MINOR));
    let { status } = await world.ask(order);
    for (let attempt = 2; attempt <= ATTEMPTS_MAX && mayTry.includes(status); attempt++) {
      if (random.happens(AGAIN_PROBABILITY)) ({ status } = await world.ask(order));
    }
    if (status === "Success" && random.happens(REVERSED_PROBABILITY)) {
      ({ status } = await world.reverse(order));
    }
    atOnce.push(status);
    await world.meanwhile();
    await world.clock.advance(random.between(NEXT_MIN_MS, NEXT_MAX_MS));
    progress(count);
  }
  const last = await world.rest();
  journal.remove();
  const { charges, verdicts, leaves, alarms, fallen } = world.recorder;
  const heard = { lines: [], charges, verdicts, leaves, alarms, fallen };
  const timeline = { ...heard, isShared, choices: [], way: [], faults: [] };
  return {
    atOnce: counted(atOnce),
    atTheEnd: counted([...last.values()]),
    wrong: counted(judge(timeline, revocable).map(({ law }) => law)),
    alarms: counted(alarms.map(({ alarm }) => alarm)),
  };
}

/** Chooses by rates; what has none does not happen. */
class RatesChooser implements Chooser {
  readonly #random: Random;
  readonly #isShared: boolean;

  constructor(random: Random, isShared: boolean) {
    this.#random = random;
    this.#isShared = isShared;
  }

  choose(_point: string, options: readonly Option[]): string {
    const names = options
      .filter((each) => typeof each === "string" || this.has(each[1]))
      .map((each) => (typeof each === "string" ? each : each[0]));
    let left = this.#random.next();
    for (const name of names.slice(1)) {
      left -= rates[name] ?? 0;
      if (left < 0) return name;
    }
    return names[0] ?? "";
  }

  has(needs: Needs): boolean {
    if (needs === "sole-user") return this.#isShared;
    return needs === "abort-final" || dimensions.some((each) => each === needs);
  }
}

function counted(laws: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const each of laws) counts.set(each, (counts.get(each) ?? 0) + 1);
  return counts;
}
