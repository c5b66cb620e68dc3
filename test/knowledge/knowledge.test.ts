import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Family, families } from "./assumptions.ts";
import { scopesOf } from "./scope.ts";
import { pairOf } from "./side-by-side.ts";
import { type Walked, Walker } from "./walker.ts";

const FAULTS = 2;
const SEED = 27;
/** Worlds of each scope; `npm run knowledge` walks them all. */
const playedOf: Readonly<Record<Family, number>> = { zvt: 600, concert: 150, "caisse-ap": 150 };

test.each(families)(
  "each verdict of a %s terminal is knowledge, in a reduced scope",
  async (family) => {
    const walker = new Walker(join(temporaryFolder(), "journal.db"));
    const isOver = ({ isWhole, played }: Walked): boolean => isWhole || played >= playedOf[family];
    const pairs: string[] = [];
    for (const scope of scopesOf(family, FAULTS).filter(({ off }) =>
      off.every((each) => each === "sole-user"),
    )) {
      const walked = await walker.walk(scope, SEED, isOver);
      expect(walked.worlds).toBeGreaterThan(10);
      for (const found of walked.found) pairs.push(await pairOf(walker, walked, found));
    }
    walker.close();
    expect(pairs).toEqual([]);
  },
);
