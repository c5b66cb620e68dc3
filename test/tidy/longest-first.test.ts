import { expect, test } from "vitest";
import { long } from "../support/run/longest-first.ts";
import { repositoryFiles } from "./sources.ts";

test("every row of the test order names a file of tests", () => {
  const files = repositoryFiles("test").filter((path) => path.endsWith(".test.ts"));
  expect(long.filter((part) => !files.some((path) => path.includes(part)))).toEqual([]);
});
