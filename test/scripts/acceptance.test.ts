import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runToEnd } from "../support/programs/own-processes.ts";

/** What the program printed, and the code with which it ended. */
async function accept(...args: string[]) {
  const script = join(projectRoot, "scripts/acceptance.ts");
  const env = { ...process.env, TUF_CONFORMANCE: undefined };
  return await runToEnd(process.execPath, [script, ...args], { env }).then(
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

test("--publish writes the report of the newest run that passed, of any commit", async () => {
  const [to, reports] = [temporaryFolder(), temporaryFolder()];
  const runs = [
    ["aaaaaaaaaaaa", "passed in 5 s on 2026-11-01", "| old |"],
    ["bbbbbbbbbbbb", "passed in 7 s on 2026-11-02", "| scope | states |"],
    ["cccccccccccc", "failed with 1, see explore.txt in 9 s on 2026-11-03", "| wrong |"],
    ["dddddddddddd-quick", "passed in 1 s on 2026-11-04", "| quick |"],
  ];
  for (const [i, [run = "", result = "", printed = ""]] of runs.entries()) {
    mkdirSync(join(to, run));
    writeFileSync(join(to, run, "explore.txt"), `${printed}\n`);
    writeFileSync(join(to, run, "explore.result"), `${result}\n`);
    utimesSync(join(to, run, "explore.result"), 1_000 + i, 1_000 + i);
  }
  const { code } = await accept("--publish", "--to", to, "--reports", reports);
  expect(code).toBe(0);
  expect(readdirSync(reports).toSorted()).toEqual(["acceptance.md", "explore.md"]);
  const report = readFileSync(join(reports, "explore.md"), "utf8");
  expect(report).toMatch(/^# Acceptance: explore\n\n`npm run .*` on bbbbbbbbbbbb: passed in 7 s/);
  expect(report).toMatch(/\n\n\| scope \| states \|\n$/);
  const ofVersion = readFileSync(join(reports, "acceptance.md"), "utf8");
  expect(ofVersion).toMatch(/^# Acceptance of version \d+\.\d+\.\d+$/m);
  expect(ofVersion).toMatch(
    /^\| \[explore\]\(explore.md\) \| no .* \| failed with 1, .* \| c{12} \|$/m,
  );
  expect(ofVersion).toMatch(/^\| kills \| .* \| not run \| {2}\|$/m);
});

test("a part that lacks something here is skipped, and says what", async () => {
  const to = temporaryFolder();
  const quick = ["--quick", "--to", to, "--part"];
  expect(await accept(...quick, "conformance")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\nconformance +skipped, see conformance.txt, in \d+ s/),
  });
  const [folder = ""] = readdirSync(to);
  const printed = readFileSync(join(to, folder, "conformance.txt"), "utf8");
  expect(printed).toContain("TUF_CONFORMANCE names no");
});

test("an unknown part is refused with the names of the known parts", async () => {
  const { code, stderr } = await accept("--part", "nothing");
  expect([code, stderr]).toEqual([
    64,
    expect.stringContaining("one of tests, simulation, kills, explore"),
  ]);
});
