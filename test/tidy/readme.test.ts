import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withGeneratedParts } from "../../scripts/readme.ts";
import { repositoryFiles, root } from "./sources.ts";

const readme = readFileSync(`${root}/README.md`, "utf8");

test("the README's configuration and error tables are those of the code (npm run readme)", () => {
  expect(withGeneratedParts(readme)).toBe(readme);
});

test("every file and folder that the README links to or lists exists", () => {
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) => path ?? "");
  const listed = [...readme.matchAll(/^(src|test|scripts)\/[\w./-]+/gm)].map(([path]) => path);
  expect([...links, ...listed].filter((path) => !existsSync(`${root}/${path}`))).toEqual([]);
});

test("every npm script that the README names exists", () => {
  const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));
  const named = [...readme.matchAll(/`npm run ([\w:-]+)/g)].map(([, name]) => name ?? "");
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

test("no file names a machine's own path, and no lock file entry a registry", () => {
  const machinePath = /(^|[^A-Za-z0-9_.$~-])\/(home|root|Users)\/[a-z]/m;
  const wrong = repositoryFiles().filter((path) => {
    if (!existsSync(`${root}/${path}`)) return false;
    const text = readFileSync(`${root}/${path}`, "utf8");
    return path === "package-lock.json" ? text.includes('"resolved"') : machinePath.test(text);
  });
  expect(wrong).toEqual([]);
});
