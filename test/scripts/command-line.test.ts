import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { rowsOf } from "../support/run/scope.ts";

const programs = globSync(["scripts/*.ts", "test/**/main.ts"], { cwd: projectRoot })
  .map((path) => ({ path, text: readFileSync(join(projectRoot, path), "utf8") }))
  .filter(({ text }) => /\b(parse|read)Arg(s|ument)/.test(text))
  .filter(({ path }) => path !== "scripts/command-line.ts");

/** The programs that are called; all of them read their arguments with the same function. */
const callable = rowsOf(programs, 3);
/** The programs that are asked for `--help` too. */
const asked = rowsOf(callable, 5);

/** The output of a program that is called with one argument. */
async function called(path: string, argument: string) {
  return await runToEnd(process.execPath, [path, argument], { cwd: projectRoot }).then(
    (said) => ({ ...said, code: 0 }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

describe("a program of the repository", () => {
  test.each(callable)("$path prints how it is called", async ({ path, text }) => {
    const [, call = ""] = /^ \* {3}(.*)$/m.exec(text) ?? [];
    const said = await called(path, "--nothing");
    expect(said).toMatchObject({ code: 64, stdout: "" });
    expect(said.stderr).toMatch(/^Unknown option '--nothing'.*\nusage: /);
    expect(said.stderr).toContain(`usage: ${call}\n`);
    if (!asked.some((one) => one.path === path)) return;
    const [, ...usage] = said.stderr.split(/(?=^usage: )/m);
    expect(await called(path, "--help")).toEqual({ code: 0, stdout: usage.join(""), stderr: "" });
  });

  test.each(programs)("$path says how it is called and explains its options", ({ text }) => {
    const [comment = "", code = ""] = text.split(/ \*\/\n/, 2);
    expect(comment).toMatch(/^ \* {3}\S/m);
    expect(text).toMatch(/\breadArguments\(\{/);
    const options = [...code.matchAll(/^ +"?([a-z-]+)"?: \{ type: "(?:string|boolean)"/gm)];
    expect(options.filter(([, name]) => !comment.includes(`--${name}`))).toEqual([]);
  });
});
