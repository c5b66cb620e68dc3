import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { blocksOf, codeBlocks, pageText } from "../support/files/pages.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { hasTool } from "../support/programs/tools.ts";
import { isWhole } from "../support/run/scope.ts";

/** The examples of the documentation, run as they are printed, against running programs. */

const assemblies = ["-r:System.Net.Http.dll", "-r:System.Runtime.Serialization.dll"];
const at = new TestInstallation({
  terminalSwitches: ["--instant", "--vending"],
  config: {
    OPERATOR_LOGIN: "operator",
    OPERATOR_PWD: "test-operator-password",
    // A restart in the middle of a payment makes nobody wait for 15 s.
    TEST_TIMERS: "yes",
    ZVT_T2_MS: 500,
    ZVT_T3_MS: 1_000,
    RECOVERY_SILENCE_MS: 50,
  },
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
 * What a program gives that pays once: tp-manager is killed when the card is charged and before it
 * knows the end, and starts again.
 */
async function throughRestart<T>(run: () => Promise<T>): Promise<T> {
  const { length } = (await at.ledger()).entries;
  await at.arm("mute:at=completion,ms=600000");
  const restart = async (): Promise<void> => {
    const isFinal = async () => (await at.ledger()).entries[length]?.final || undefined;
    await until("the card is charged", isFinal);
    await at.tpManager?.end("SIGKILL");
    await at.disarm();
    await at.startTpManager();
  };
  const [ended] = await Promise.all([run(), restart()]);
  return ended;
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

  test.skipIf(!hasTool("curl"))("curl: pays and reads through a restart", async () => {
    const [code = ""] = codeBlocks("docs/examples.md", "sh");
    const { stdout } = await throughRestart(() =>
      runToEnd("sh", ["-c", curlHere + here(code, "CURL")]),
    );
    const statuses = stdout.split("\n").filter((line) => /^\d{3}$/.test(line));
    expect([statuses[0], statuses.at(-1)]).toEqual(["202", "200"]);
    expect(stdout.split('"status":"Success"')).toHaveLength(3); // of the lookup and its attempt
    expect(stdout).toContain("event: terminal");
  });

  const node = process.execPath;
  test.each([
    ["JavaScript", "js", 0, "pay.mjs", [node, "pay.mjs"]],
    ["TypeScript", "ts", 0, "pay.ts", [node, "pay.ts"]],
    ["TypeScript with events", "ts", 1, "watch.ts", [node, "watch.ts"]],
  ])("%s: pays once through a restart, and never again", (_, language, index, file, command) =>
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

  test.skipIf(!hasTool("python3"))("Python: pays once through a restart, and never again", () =>
    paysOnce(codeBlocks("docs/examples.md", "python")[0], "pay.py", ["python3", "pay.py"]),
  );

  test.skipIf(!hasCSharp())("C#: pays once through a restart, and never again", () =>
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
  const run = () => runToEnd(program, args, { cwd: folder });
  for (let i = 0; i < 2; i++) {
    const isRestarted = i === 0 && (isWhole || file !== "watch.ts");
    const { stdout } = await (isRestarted ? throughRestart(run) : run());
    expect(stdout.trim().split("\n").at(-1)?.trim()).toBe("Success");
    expect(stdout.includes("paid before")).toBe(i === 1);
  }
  expect((await charged()) - before).toBe(1_200);
}

/** An HTTP status and the one object of an answer; or no such answer. */
type Reply = readonly [number, object] | "cut" | "no JSON";

const order = (http: number, status: string, code: string | null, startedAt: string): Reply => {
  const charged = status === "Unknown" ? "unknown" : "no";
  const error = code && { code, message: code, charged };
  return [http, { status, error, transactionId: "T-1", attempts: [{ startedAt }] }];
};
const refused = (http: number, code: string, charged: string): Reply => {
  return [http, { status: "Failed", error: { code, message: code, charged } }];
};
/** Before and after each run of an example. */
const [earlier, since] = ["2020-01-01T00:00:00.000Z", "2100-01-01T00:00:00.000Z"];
const paid = order(200, "Success", null, since);
const notFound = refused(404, "ORDER_NOT_FOUND", "no");

/** What a connector answers, first to the payment, and what an example prints then. */
const untilKnown: ReadonlyArray<readonly [string, readonly Reply[], RegExp]> = [
  ["a restart", ["cut", "cut", refused(503, "STOPPING", "no"), "no JSON", paid], /^Success$/],
  [
    "the end of an earlier attempt",
    ["cut", order(200, "Declined", "PAYMENT_DECLINED", earlier)],
    /^not received: pay again$/,
  ],
  ["404 twice", ["cut", notFound], /^not received: pay again$/],
  ["404 once", ["cut", notFound, paid], /^Success$/],
  [
    "the charge of an earlier request",
    ["cut", order(200, "Success", null, earlier)],
    /^paid before: [^\n]*\n+Success$/,
  ],
  ["404 after 202", [order(202, "Unknown", "PAYMENT_RUNNING", since), notFound], /^Unknown\b/],
  [
    "404 after the order was read",
    ["cut", order(504, "Unknown", "A", since), notFound],
    /^Unknown A$/,
  ],
  [
    "404 while orders may be missing",
    ["cut", refused(404, "ORDER_NOT_FOUND", "unknown")],
    /^Unknown\b/,
  ],
  ["a wrong login", ["cut", refused(401, "UNAUTHORIZED", "no")], /^Unknown\b/],
];

const mono = { compiler: ["mcs", "Pay.cs", ...assemblies], isThere: isWhole && hasCSharp() };
const written = [
  ["js", "pay.mjs", [process.execPath, "pay.mjs"], { isThere: true }],
  ["python", "pay.py", ["python3", "pay.py"], { isThere: hasTool("python3") }],
  ["csharp", "Pay.cs", ["mono", "Pay.exe"], mono],
] as const;

/** Texts of the examples, and others that make them pause for moments and end within seconds. */
const hasty = [
  ["2_000", "10"],
  ["300_000", "1_500"],
  ["sleep(2)", "sleep(0.01)"],
  ["+ 300", "+ 1.5"],
  ["Delay(2000)", "Delay(10)"],
  ["TotalMinutes > 5", "TotalSeconds > 1.5"],
] as const;

describe.each(written)(
  "untilKnown in %s",
  (language, file, [program, ...args], { isThere, ...more }) => {
    test.skipIf(!isThere)("posts once, and takes each answer as docs/unknown.md says", async () => {
      let replies: readonly Reply[] = [];
      let requests: string[] = [];
      const server = createServer(({ method = "" }, response) => {
        requests.push(method);
        const reply = replies[Math.min(requests.length, replies.length) - 1] ?? "cut";
        if (reply === "cut") response.destroy();
        else if (reply === "no JSON") response.writeHead(502).end("<html>");
        else response.writeHead(reply[0]).end(JSON.stringify([reply[1]]));
      });
      onTestFinished(() => void server.close().closeAllConnections());
      await once(server.listen(0, "127.0.0.1"), "listening");
      const address = server.address();
      const port = typeof address === "object" ? address?.port : "";
      const [code = ""] = codeBlocks("docs/examples.md", language);
      const folder = temporaryFolder();
      const toHere = code.replace("localhost:8765", `127.0.0.1:${port}`);
      const quick = hasty.reduce((text, [from, to]) => text.replace(from, to), toHere);
      writeFileSync(join(folder, file), quick);
      const [compiler, ...compilerArgs] = "compiler" in more ? more.compiler : [];
      if (compiler) await runToEnd(compiler, compilerArgs, { cwd: folder });
      for (const [name, given, printed] of isWhole ? untilKnown : untilKnown.slice(0, 2)) {
        [replies, requests] = [given, []];
        const { stdout } = await runToEnd(program, args, { cwd: folder });
        expect(stdout.trim().replaceAll("\r", ""), name).toMatch(printed);
        expect([name, ...requests.filter((method) => method !== "GET")]).toEqual([name, "POST"]);
      }
    });
  },
);

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
    expect(statuses.filter((status) => !["200", "202", "409"].includes(status))).toEqual([]);
    if (answers.length === 0) expect(stdout).toContain("event: terminal");
  });
});
