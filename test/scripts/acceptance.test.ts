import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { runToEnd } from "../support/own-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What the program printed, and the code with which it ended. */
async function accept(...words: string[]) {
  const script = join(projectRoot, "scripts/acceptance.ts");
  return await runToEnd(process.execPath, [script, ...words]).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: "" }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

test("a part that passed on this commit is not run again, one that failed is", async () => {
  const to = temporaryFolder();
  const quick = ["--quick", "--to", to, "--part"];
  const first = await accept(...quick, "fuzz-concert");
  expect(first).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^fuzz-concert ...\nfuzz-concert +passed in \d+ s on 20/),
  });
  const [folder = ""] = readdirSync(to);
  expect(readFileSync(join(to, folder, "fuzz-concert.txt"), "utf8")).toContain("1000 inputs: ");
  const again = await accept(...quick, "fuzz-concert");
  expect(again.stdout).toMatch(/^fuzz-concert +passed/);
  mkdirSync(join(to, folder), { recursive: true });
  writeFileSync(join(to, folder, "fuzz-concert.result"), "failed with 1 in 2 s\n");
  expect((await accept(...quick, "fuzz-concert")).stdout).toMatch(/^fuzz-concert ...\n.* passed/);
  const listed = await accept("--list", "--quick", "--to", to);
  expect(listed.stdout).toMatch(/^simulation +not run$[\s\S]*^fuzz-concert +passed/m);
});

test("a part that is not there is refused with those that are", async () => {
  const { code, stderr } = await accept("--part", "nothing");
  expect([code, stderr]).toEqual([
    64,
    expect.stringContaining("one of tests, simulation, kills, explore"),
  ]);
});
