import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { isWhole } from "../support/run/scope.ts";
import { type Family, families } from "./assumptions.ts";
import { type Scope, scopesOf } from "./scope.ts";
import { pairOf } from "./side-by-side.ts";
import { type Walked, Walker } from "./walker.ts";

const FAULTS = 2;
const SEED = 27;
/** Worlds of a scope, fewer outside the whole scope; `npm run knowledge` walks them all. */
const playedOf: Readonly<Record<Family, number>> = isWhole
  ? { zvt: 450, concert: 120, "caisse-ap": 120, "by-id": 300 }
  : { zvt: 23, concert: 12, "caisse-ap": 12, "by-id": 23 };
/** Worlds that break another assumption than the sole user; of pairs the script walks them. */
const FURTHER_WORLDS = 11;

/** What only worlds far from normal life break: they are sought on one day of the kiosk. */
const brokenFarOff = [
  "zvt own-report",
  "concert ordered-results",
  "caisse-ap own-connection",
  "by-id status-remembers",
];

function reduced(scope: Scope): Scope {
  const isFarOff = brokenFarOff.includes(`${scope.family} ${scope.off[0]}`);
  return isWhole || !isFarOff ? scope : { ...scope, days: ["A C B"] };
}

/** No pairs; and of what both one-way families take for granted half in each of them. */
function isWalked({ family, off: [first, ...more] }: Scope, number: number): boolean {
  if (more.length > 0) return false;
  if (
    isWhole ||
    family === "zvt" ||
    family === "by-id" ||
    first === undefined ||
    first === "sole-user"
  )
    return true;
  return first === "own-connection" || number % 2 === (family === "concert" ? 0 : 1);
}

test.each(families)(
  "each verdict of a %s terminal is knowledge, in a reduced scope",
  async (family) => {
    const walker = new Walker(join(temporaryFolder(), "journal.db"));
    const isOver = ({ played, worlds, scope: { off }, ...walked }: Walked): boolean => {
      const isNear = off.every((each) => each === "sole-user");
      const isEnough = isNear ? played >= playedOf[family] : worlds >= FURTHER_WORLDS;
      return walked.isWhole || isEnough;
    };
    const pairs: string[] = [];
    for (const scope of scopesOf(family, FAULTS).filter(isWalked)) {
      const walked = await walker.walk(reduced(scope), SEED, isOver);
      expect(walked.worlds).toBeGreaterThan(10);
      for (const found of walked.found) pairs.push(await pairOf(walker, walked, found));
    }
    walker.close();
    expect(pairs).toEqual([]);
  },
);
