import { createHash } from "node:crypto";
import { OneWayConnector, type OneWayRules, productRules } from "./one-way-connector.ts";
import { breachOf } from "./one-way-laws.ts";
import { oneWayMoves } from "./one-way-moves.ts";
import { firstWorld, type OneWayScope, type OneWayWorld } from "./one-way-world.ts";

interface OneWayWalked {
  readonly scope: string;
  readonly states: number;
  readonly moves: number;
  readonly depth: number;
  readonly found: ReadonlyArray<{
    readonly law: string;
    readonly what: string;
    readonly steps: readonly string[];
  }>;
}

interface Reached {
  readonly world: OneWayWorld;
  readonly from: Reached | null;
  readonly says: string;
}

/** Visits every world that a scope can reach, the near ones first. */
export function walkOneWay(scope: OneWayScope, rules: OneWayRules = productRules): OneWayWalked {
  const connector = new OneWayConnector(scope, rules);
  const first: Reached = { world: firstWorld(scope), from: null, says: "" };
  const known = new Set([keyOf(first.world)]);
  const found = new Map<string, OneWayWalked["found"][number]>();
  let [moves, depth] = [0, 0];
  let layer = [first];
  while (layer.length > 0) {
    const next: Reached[] = [];
    for (const from of layer) {
      const ways = oneWayMoves(from.world, scope, connector);
      moves += ways.length;
      const rests = ways.every(({ by }) => by !== "time");
      const breach = breachOf(from.world, scope, rests);
      if (breach) {
        if (!found.has(breach.law)) found.set(breach.law, { ...breach, steps: stepsTo(from) });
        continue;
      }
      for (const { says, world } of ways) {
        const key = keyOf(world);
        if (known.has(key)) continue;
        known.add(key);
        next.push({ world, from, says });
      }
    }
    if (next.length > 0) depth += 1;
    layer = next;
  }
  return { scope: scope.name, states: known.size, moves, depth, found: [...found.values()] };
}

function keyOf(world: OneWayWorld): string {
  return createHash("sha1").update(JSON.stringify(world)).digest("base64");
}

function stepsTo(known: Reached): string[] {
  const steps: string[] = [];
  for (let at: Reached | null = known; at?.from; at = at.from) steps.push(at.says);
  return steps.reverse();
}
