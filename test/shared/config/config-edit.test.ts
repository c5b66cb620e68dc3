import {
  chmodSync,
  chownSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { replaceSetup, withSetting } from "../../../src/shared/config/config-edit.ts";
import { readEntries } from "../../../src/shared/config/config-file.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { tries } from "../../support/run/scope.ts";

describe("a new value in the text of a setup file", () => {
  test.each([
    ["replaces the old one", "A=1\nB=2\n", "A=9\nB=2\n"],
    ["keeps comments, unknown names and blanks", "# A\n\n  A = 1\nX=#2\n", "# A\n\n  A=9\nX=#2\n"],
    ["keeps CRLF and a BOM", "\ufeffA=1\r\nB=2", "\ufeffA=9\r\nB=2"],
    ["keeps lone CR", "B=2\rA=1\rC=3", "B=2\rA=9\rC=3"],
    ["keeps a comment after quotes", 'A="1"  # one\n', 'A="9"  # one\n'],
    ["stands below its comment", "#A=1\r\nB=2\r\n", "#A=1\r\nA=9\r\nB=2\r\n"],
    ["stands at the end", "B=2", "B=2\nA=9\n"],
    ["begins an empty file", "", "A=9\n"],
    ["changes no line that has it", "A = '9' # nine\n", "A = '9' # nine\n"],
  ])("%s", (_what, text, edited) => {
    expect(withSetting(text, "A", "9")).toBe(edited);
  });

  test("is read again as it was given, whatever it is, or refused", () => {
    const value = fc.string({ unit: fc.constantFrom(..."ab \t#'\"=\\") }).filter((text) => {
      return text.trim() === text || !/["']/.test(text);
    });
    fc.assert(
      fc.property(value, fc.constantFrom("", "A=1\n", "A='1' # one\n", "#A=1\n"), (given, text) => {
        let edited: string;
        try {
          edited = withSetting(text, "A", given);
        } catch (error) {
          expect((error as Error).message).toBe("the setup file cannot hold this value of A");
          return;
        }
        expect(readEntries(edited).entries.find(({ name }) => name === "A")?.value ?? "").toBe(
          given,
        );
      }),
      { numRuns: tries(200), seed: 29 },
    );
  });
});

describe("the setup file", () => {
  const file = () => join(temporaryFolder(), "config.txt");
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

  test("is new for its owner alone, and whole", () => {
    const path = file();
    replaceSetup(path, undefined, "A=1\n");
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["A=1\n", "600"]);
    expect(readdirSync(join(path, ".."))).toEqual(["config.txt"]);
  });

  test.each([
    [0o600, "600"],
    [0o640, "640"],
    [0o660, "660"],
    [0o644, "600"],
    [0o604, "600"],
  ])("of mode %o keeps its rights, unless everybody could read it", (mode, kept) => {
    const path = file();
    writeFileSync(path, "A=1\n");
    chmodSync(path, mode);
    replaceSetup(path, "A=1\n", "A=2\n");
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["A=2\n", kept]);
  });

  test.skipIf(process.getuid?.() !== 0)("stays its owner's when root changes it", () => {
    const path = file();
    writeFileSync(path, "A=1\n");
    chownSync(path, 1_234, 2_345);
    replaceSetup(path, "A=1\n", "A=2\n");
    expect(statSync(path)).toMatchObject({ uid: 1_234, gid: 2_345 });
  });

  test("is written where a link to it leads", () => {
    const [path, target] = [file(), file()];
    writeFileSync(target, "A=1\n");
    symlinkSync(target, path);
    replaceSetup(path, "A=1\n", "A=2\n");
    expect(readFileSync(target, "utf8")).toBe("A=2\n");
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
  });

  test.each([
    ["changed", "A=1\n", "A=3\n"],
    ["made", undefined, "A=3\n"],
  ])("that was %s meanwhile stays as it is", (_what, before, now) => {
    const path = file();
    writeFileSync(path, now);
    expect(() => replaceSetup(path, before, "A=2\n")).toThrow(
      /changed by another program meanwhile/,
    );
    expect(readFileSync(path, "utf8")).toBe(now);
    expect(readdirSync(join(path, ".."))).toEqual(["config.txt"]);
  });
});
