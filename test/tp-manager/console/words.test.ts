import { expect, test } from "vitest";
// @ts-expect-error: the pages' JavaScript is checked by tsconfig.pages.json
import german from "../../../src/tp-manager/console/pages/words/de.js";
// @ts-expect-error: as above
import english from "../../../src/tp-manager/console/pages/words/en.js";
// @ts-expect-error: as above
import french from "../../../src/tp-manager/console/pages/words/fr.js";

type Texts = Readonly<Record<string, string>>;
const base: Texts = english;
const others: ReadonlyArray<readonly [string, Texts]> = [
  ["German", german],
  ["French", french],
];

const valuesIn = (text = ""): string[] => [...text.matchAll(/\{\w+\}/g)].map(String).sort();

test.each(others)("a text in %s is given the same values as the English one", (_name, texts) => {
  const wrong = Object.keys(base).filter(
    (key) => valuesIn(texts[key]).join() !== valuesIn(base[key]).join() || texts[key] === "",
  );
  expect(wrong).toEqual([]);
});
