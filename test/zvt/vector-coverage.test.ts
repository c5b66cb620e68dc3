import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { typescriptSources } from "../tidy/sources.ts";
import { isNoInput, leftOut, required, type UseName, usedBy, uses } from "./vector-uses.ts";
import { hasVectors, vectors, zvtFolder } from "./vectors.ts";

const names = Object.keys(uses) as UseName[];

describe.skipIf(!hasVectors)("the conformance vectors", () => {
  const files = hasVectors
    ? readdirSync(zvtFolder).flatMap((name) => /^(.*)\.json$/.exec(name)?.[1] ?? [])
    : [];

  test("all their files have a use", () => {
    expect(files.toSorted()).toEqual(Object.keys(required).toSorted());
  });

  test.each(files)("of %s are all used, or left out with a reason", (file) => {
    const counts = (required[file] ?? []).map((alternatives) => {
      const used = new Set(alternatives.flatMap((use) => usedBy(use).map(({ id }) => id)));
      const reasons = Object.assign({}, ...alternatives.map(leftOut));
      const wanted = vectors(file).filter(
        (vector) => !alternatives.some((use) => isNoInput(use, vector)),
      );
      const forgotten = wanted.filter(({ id }) => !used.has(id) && !reasons[id]);
      expect(forgotten.map(({ id }) => id)).toEqual([]);
      const mine = wanted.filter(({ id }) => used.has(id));
      return `${alternatives.join(" or ")} ${mine.length} of ${wanted.length}`;
    });
    process.stdout.write(`${file}: ${counts.join(", ")}\n`);
    expect(counts.length).toBeGreaterThan(0);
  });

  test("that are left out exist, and have a reason in words", () => {
    for (const use of names) {
      const all = new Set(uses[use].files.flatMap((file) => vectors(file).map(({ id }) => id)));
      for (const [id, reason] of Object.entries(leftOut(use))) {
        expect(all.has(id), id).toBe(true);
        expect(reason).toMatch(/\w+ \w+/);
      }
    }
  });

  test("are taken for every use by a test", () => {
    const tests = typescriptSources().filter(({ path }) => path.endsWith(".test.ts"));
    const used = names.filter((use) => tests.some(({ text }) => text.includes(`usedBy("${use}")`)));
    expect(used).toEqual(names);
  });
});
