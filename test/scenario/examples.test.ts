import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { blocksOf, codeBlocks, pageText } from "../support/files/pages.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { TestInstallation } from "../support/programs/installation.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { hasTool } from "../support/programs/tools.ts";

/** The examples of the documentation, run as they are printed, against running programs. */

const assemblies = ["-r:System.Net.Http.dll", "-r:System.Runtime.Serialization.dll"];
const at = new TestInstallation({
  terminalSwitches: ["--instant"],
  config: { OPERATOR_LOGIN: "operator", OPERATOR_PWD: "test-operator-password" },
});
beforeAll(async () => {
  await at.start();
  await at.connected();
});
afterAll(() => at.stop());

/** The stated pair and port are those of no installation; the orders are used once. */
function here(code: string, orders: string): string {
  return code
    .replaceAll("http://localhost:8765", at.url)
    .replaceAll("kiosk:secret", `kiosk:${at.password}`)
    .replaceAll("operator:secret", "operator:test-operator-password")
    .replaceAll('"secret"', JSON.stringify(at.password))
    .replaceAll("A-100", `${orders}-100`);
}

async function charged(): Promise<number> {
  return (await at.ledger()).charged;
}

/**
 * curl prints the status after the answer, and leaves a stream of events, which has no end of its
 * own, after a second; later where a busy machine has brought no event by then.
 */
const curlHere = `curl() {
  case " $* " in
    *" -N "*)
      for seconds in 1 4 16 64; do
        heard=$(command curl -sS --max-time $seconds "$@") || test $? = 28
        case $heard in *"event: "*) break ;; esac
      done
      printf '%s\\n' "$heard" ;;
    *) command curl -sS -w '\\n%{http_code}\\n' "$@" ;;
  esac
}
`;

describe("docs/examples.md", () => {
  test("has an example in every language that it names", () => {
    const languages = ["sh", "js", "ts", "csharp", "python"];
    const none = languages.filter((one) => codeBlocks("docs/examples.md", one).length === 0);
    expect(none).toEqual([]);
    const all = pageText("docs/examples.md").match(/^```\w+$/gm) ?? [];
    const known = languages.flatMap((one) => codeBlocks("docs/examples.md", one));
    expect(all).toHaveLength(known.length);
  });

  test.skipIf(!hasTool("curl"))("curl", async () => {
    const [code = ""] = codeBlocks("docs/examples.md", "sh");
    const { stdout } = await runToEnd("sh", ["-ec", curlHere + here(code, "CURL")]);
    expect(stdout.split("\n").filter((line) => line === "200")).toHaveLength(2);
    expect(stdout.split('"status":"Success"')).toHaveLength(4); // the lookup has its attempt too
    expect(stdout).toContain("event: terminal");
  });

  const node = process.execPath;
  test.each([
    ["JavaScript", "js", 0, "pay.mjs", [node, "pay.mjs"]],
    ["TypeScript", "ts", 0, "pay.ts", [node, "pay.ts"]],
    ["TypeScript with events", "ts", 1, "watch.ts", [node, "watch.ts"]],
  ])("%s: pays once, and a second call pays nothing more", (_, language, index, file, command) =>
    paysOnce(codeBlocks("docs/examples.md", language)[index], file, command),
  );

  test("TypeScript: an order charged before at another amount is not called free", async () => {
    const folder = temporaryFolder();
    const [code = ""] = codeBlocks("docs/examples.md", "ts");
    writeFileSync(join(folder, "pay.ts"), here(code, "OTHER"));
    copyFileSync(join(projectRoot, "src/client/client.ts"), join(folder, "client.ts"));
    await at.pay(5, "OTHER-1001");
    const ended = await runToEnd(node, ["pay.ts"], { cwd: folder }).catch((error) => error);
    expect(ended.stderr).toContain("Failed, charged: yes: call the attendant");
    expect(ended.stdout).not.toContain("not charged");
  });

  test.skipIf(!hasTool("python3"))("Python: pays once, and a second call pays nothing more", () =>
    paysOnce(codeBlocks("docs/examples.md", "python")[0], "pay.py", ["python3", "pay.py"]),
  );

  test.skipIf(!hasCSharp())("C#: pays once, and a second call pays nothing more", () =>
    paysOnce(
      codeBlocks("docs/examples.md", "csharp")[0],
      "Pay.cs",
      ["mono", "Pay.exe"],
      ["mcs", "Pay.cs", ...assemblies],
    ),
  );
});

/** Mono with what the example needs. */
function hasCSharp(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "utc-mcs-"));
  writeFileSync(join(folder, "a.cs"), "class A {}");
  const args = ["a.cs", "-target:library", ...assemblies];
  const { status } = spawnSync("mcs", args, { cwd: folder, stdio: "ignore" });
  rmSync(folder, { recursive: true });
  return hasTool("mono") && status === 0;
}

async function paysOnce(
  code: string | undefined,
  file: string,
  [program = "", ...args]: readonly string[],
  [compiler, ...compilerArgs]: readonly string[] = [],
): Promise<void> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, file), here(code ?? "", file.toUpperCase()));
  copyFileSync(join(projectRoot, "src/client/client.ts"), join(folder, "client.ts"));
  if (compiler) await runToEnd(compiler, compilerArgs, { cwd: folder });
  const before = await charged();
  for (let i = 0; i < 2; i++) {
    const { stdout } = await runToEnd(program, args, { cwd: folder });
    expect(stdout.trim().split("\n").at(-1)?.trim()).toBe("Success");
    expect(stdout.includes("paid before")).toBe(i === 1);
  }
  expect((await charged()) - before).toBe(1_200);
}

describe.skipIf(!hasTool("curl"))("the handbooks", () => {
  const blocks = blocksOf("curl").filter(({ page }) => page !== "docs/examples.md");

  test("show curl", () => {
    expect(blocks.length).toBeGreaterThanOrEqual(6);
    expect(blocks[0]?.page).toBe("README.md"); // its payment is what the others speak of
  });

  test.each(blocks)("$page: $code", async ({ code }) => {
    const { stdout } = await runToEnd("sh", ["-ec", curlHere + here(code, "README")]);
    const answers = stdout.split("\n").filter((line) => line.startsWith("["));
    for (const answer of answers) expect(JSON.parse(answer)).toEqual(expect.any(Array));
    const statuses = stdout.split("\n").filter((line) => /^\d{3}$/.test(line));
    expect(answers).toHaveLength(statuses.length);
    // Nothing runs, waits or is in doubt; everything else is answered as the text says.
    expect(statuses.filter((status) => status !== "200" && status !== "409")).toEqual([]);
    if (answers.length === 0) expect(stdout).toContain("event: terminal");
  });
});
