import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { checkLocalPort, checkPages } from "../../../src/launcher/doctor/check-ports.ts";
import { checkPrograms } from "../../../src/launcher/doctor/check-programs.ts";
import { checkBrowsers, checkClock } from "../../../src/launcher/doctor/check-surroundings.ts";
import { runDoctor } from "../../../src/launcher/doctor/doctor.ts";
import type { TpManagerStatus } from "../../../src/launcher/processes/programs.ts";
import type { Finding } from "../../../src/shared/catalog/findings.ts";
import type { ServedPage } from "../../../src/shared/ipc/contract.ts";
import { installationAt } from "../../../src/shared/program/installation.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { testCards } from "../../shared/masking/test-cards.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { freePort } from "../../support/programs/installation.ts";
import { recordedOutput } from "../../support/programs/recorded-output.ts";
import { isWhole } from "../../support/run/scope.ts";
import { completeConfig, TemporaryCheckout } from "../fixtures/temporary-checkout.ts";

let checkout: TemporaryCheckout;
beforeAll(() => {
  checkout = new TemporaryCheckout();
});
afterAll(() => checkout.remove());

const config = (changes: Record<string, string>): string =>
  Object.entries(changes).reduce(
    (text, [name, value]) => text.replace(new RegExp(`^${name}=.*$`, "m"), `${name}=${value}`),
    completeConfig,
  );
// The second port is the console's: the one after LOCAL_PORT.
const [localPort = ""] = [await freePort(), await freePort()].map(String);
// Nobody listens on port 1: the gateway of these tests is out of reach.
const base = { GATEWAY_URL: "http://127.0.0.1:1", LOCAL_PORT: localPort };

/** The report of the launcher's process. */
async function examine(data: string) {
  const { code, out } = await checkout.launch("doctor", "--json", "--data", data);
  return reportIn(out, code);
}

/** The same report, made in this process: of a data folder for which no program runs. */
async function examineHere(dataDirectory: string) {
  const lines: string[] = [];
  const site = { ...installationAt(dataDirectory), clock: systemClock };
  const context = { ...site, output: recordedOutput(lines) };
  const code = await runDoctor(context, { json: true, acceptance: false });
  return reportIn(lines.join("\n"), code);
}

function reportIn(out: string, code: number) {
  const { well, findings } = JSON.parse(out) as { well: boolean; findings: Finding[] };
  const of = (check: string) => findings.filter((finding) => finding.check === check);
  return { code, well, findings, of };
}

test("an installation that runs has one good line for each check but the gateway's", async () => {
  const data = checkout.dataFolder("well", config(base));
  await checkout.launch("--data", data);
  const { code, out } = await checkout.launch("doctor", "--data", data);
  expect(code).toBe(69);
  const lines = out.trimEnd().split("\n");
  expect(lines.every((line) => /^[a-z -]{11} (ok {3}|warn |fail )\S/.test(line))).toBe(true);
  const failing = lines.filter((line) => /^.{11} fail /.test(line));
  expect(failing).toHaveLength(1);
  expect(failing[0]).toMatch(
    /^gateway +fail +.* -> Check GATEWAY_URL in the setup file, the network and the firewall\.$/,
  );
  const { of } = await examine(data);
  for (const check of ["tp-manager", "terminal", "supervisor", "queue", "local port", "config"]) {
    expect(of(check).map(({ verdict }) => verdict)).toEqual(["ok"]);
  }
  expect(of("terminal")[0]?.says).toBe(
    "The terminal would accept a payment (terminal 52500042: ready)",
  );
  // The stand-in sends no assumptions, like a tp-manager of an older version.
  expect(of("assumptions")).toEqual([]);
  expect(of("local port")[0]?.says).toBe(`tp-manager listens on port ${localPort}.`);
});

test("a program that hangs is a failure", async () => {
  const data = checkout.dataFolder("well", config(base));
  const [found] = checkout.running("supervisor", data); // left by the test before this one
  if (found === undefined) await checkout.launch("--data", data);
  const [pid] = checkout.running("supervisor", data) as [number];
  process.kill(pid, "SIGSTOP");
  const { of } = await examine(data);
  expect(of("supervisor")[0]).toMatchObject({
    verdict: "fail",
    todo: `Run on the machine: ./launch.sh restart --data '${data}'`,
  });
  expect(of("supervisor")[0]?.says).toContain(`Process ${pid} does not answer`);
  const status = await checkout.launch("status", "--data", data);
  expect(status.out).toContain("./launch.sh doctor says what is wrong");
  process.kill(pid, "SIGCONT");
  await checkout.launch("stop", "--data", data);
});

test("every fault of the setup file has its own line, and the exit code is 78", async () => {
  const data = checkout.dataFolder(
    "faulty",
    config({ ...base, LOCAL_PORT: "0", UPDATE_TIME: "9" }),
  );
  const { code, well, of } = await examine(data);
  expect({ code, well }).toEqual({ code: 78, well: false });
  expect(of("config").map(({ says }) => says)).toEqual([
    expect.stringMatching(/^A setting in .* is missing, .* be used: line 2: LOCAL_PORT m/),
    expect.stringMatching(/^A setting in .* is missing, .* be used: line 11: UPDATE_TIME/),
  ]);
  expect(of("tp-manager")[0]).toMatchObject({ verdict: "fail", says: "The program does not run." });
  expect(of("terminal")[0]).toMatchObject({ verdict: "warn" });
});

test("a warning next to a fault stays a warning", async () => {
  const text = `${config({ ...base, LOCAL_PORT: "0" })}LOCAL_PROT=8765\n`;
  const { code, of } = await examineHere(checkout.dataFolder("faulty with a warning", text));
  expect(code).toBe(78);
  expect(of("config").map(({ verdict, code, says }) => [verdict, code, says])).toEqual([
    ["fail", "setup-faulty", expect.stringMatching(/ cannot be used: line 2: LOCAL_PORT /)],
    [
      "warn",
      "setup-doubtful",
      expect.stringMatching(/ may be wrong: line \d+: LOCAL_PROT is not a known name/),
    ],
  ]);
});

test.each([
  { protocol: "concert", own: "CONCERT_VARIANT", good: "e-ticket", bad: "v3" },
  { protocol: "caisse-ap", own: "CAISSE_AP_LINK", good: "session", bad: "serial" },
])("the setup file of a terminal of $protocol is read too", async ({ protocol, own, ...value }) => {
  const written = `${config(base)}TERMINAL_PROTOCOL=${protocol}\n`;
  const well = await examineHere(
    checkout.dataFolder(`${protocol} well`, `${written}${own}=${value.good}\n`),
  );
  expect(well.of("config").map(({ verdict }) => verdict)).toEqual(["ok"]);
  const wrong = await examineHere(
    checkout.dataFolder(`${protocol} wrong`, `${written}${own}=${value.bad}\n`),
  );
  expect([wrong.code, wrong.of("config").map(({ says }) => says)]).toEqual([
    78,
    [expect.stringMatching(new RegExp(` cannot be used: line \\d+: ${own} must be one of `))],
  ]);
});

test("without setup file and data folder the doctor says what to do, and goes on", async () => {
  const missing = join(checkout.home, "nowhere");
  const { code, of, findings } = await examineHere(missing);
  expect(code).toBe(78);
  expect(of("data folder")[0]?.verdict).toBe("fail");
  expect(of("config")[0]).toMatchObject({
    says: expect.stringMatching(
      /^The setup file cannot be read: .*config\.txt: it is not there \(ENOENT\)$/,
    ),
    todo: expect.stringContaining(`run ./launch.sh configure --data '${missing}', or copy data`),
  });
  expect(findings.length).toBeGreaterThan(6);
});

test("a port of another program, a wrong serial port, a deliberate stop are reported", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const address = other.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  const changes = { ...base, LOCAL_PORT: port, SERIAL_PORT: "/dev/ttyUSB99" };
  const data = checkout.dataFolder("others", config(changes));
  await checkout.launch("stop", "--data", data);
  const { of } = await examineHere(data);
  const says = `Process ${process.pid} (node) listens on port ${port}.`;
  expect(of("local port")[0]).toMatchObject({ code: "port-taken-by", says });
  expect(of("serial port")[0]?.says).toBe(
    "The serial port /dev/ttyUSB99 is not there, but other ports are.",
  );
  expect(of("tp-manager")[0]).toMatchObject({
    verdict: "warn",
    code: "program-stopped-on-purpose",
    todo: `Run on the machine: ./launch.sh start --data '${data}'`,
    values: { program: "tp-manager", command: `./launch.sh start --data '${data}'` },
  });
  await new Promise((resolve) => other.close(resolve));
});

test.each(["127.0.0.1", "::1"])("a page's port that another program has, on %s", async (host) => {
  const listening = async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen({ port: 0, host }, resolve));
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  };
  const [consoles, kiosk] = [await listening(), await listening()];
  const folder = temporaryFolder();
  const pages = `CONSOLE_PORT=${consoles}\nKIOSK_PORT=${kiosk}\nKIOSK_APP=${folder}\n`;
  const name = `pages ${host.replaceAll(":", "x")}`;
  const data = checkout.dataFolder(name, config({ ...base, LOCAL_PORT: "18769" }) + pages);
  const pagesIn = ({ of }: Awaited<ReturnType<typeof examine>>) =>
    of("pages").map(({ code, says, todo }) => [code, says, todo]);
  const taken = (setting: string, port: number) => [
    "page-taken-by",
    `Process ${process.pid} (node) listens on ${setting} ${port}: ` +
      "our page there is not served, payments go on.",
    expect.stringMatching(`set another ${setting} .* on the machine: ./launch.sh restart --data`),
  ];
  const both = [taken("CONSOLE_PORT", consoles), taken("KIOSK_PORT", kiosk)];
  expect(pagesIn(await examineHere(data))).toEqual(both);
  // The tp-manager that runs then is a stand-in: scenario/console.test.ts has the real one.
  if (host !== "127.0.0.1" && !isWhole) return;
  await checkout.launch("--data", data);
  expect(pagesIn(await examine(data))).toEqual(both);
  await checkout.launch("stop", "--data", data);
});

const stopped = { tpManager: { state: "stopped" }, supervisor: { state: "stopped" } } as const;
const running = (status: TpManagerStatus) => {
  return { state: "running", pid: process.pid, status } as const;
};

test("a page that is not served for another reason, or not yet, is reported", async () => {
  const port = await freePort();
  const kioskPages = { KIOSK_PORT: 0, KIOSK_APP: undefined };
  const asked = { CONSOLE_PORT: port, ...kioskPages, LOCAL_PORT: 1, NOTIFICATION_PORT: 0 };
  const changesOf = async (...pages: ServedPage[]) => {
    const status = { program: "tp-manager", pages } as unknown as TpManagerStatus;
    const found = await checkPages(asked, { ...stopped, tpManager: running(status) });
    return found.map(({ code, says }) => [code, says]);
  };
  const page = { name: "console", port };
  expect(await changesOf({ ...page, fault: "it was taken" })).toEqual([
    ["page-missing", `tp-manager does not serve the page of CONSOLE_PORT ${port}: it was taken`],
  ]);
  const changed = [
    ["page-changed", `CONSOLE_PORT ${port} is set, but tp-manager has not read this setting yet.`],
  ];
  expect(await changesOf()).toEqual(changed);
  expect(await changesOf({ ...page, port: port + 1, fault: null })).toEqual(changed);
  expect((await checkPages(asked, stopped))[0]?.code).toBe("page-free");
  expect(await checkPages({ ...asked, CONSOLE_PORT: 0 }, stopped)).toEqual([]);
});

test("a port that a program of the connector holds is no other program's", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1" }, resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const status = { program: "tp-manager", pid: process.pid, port: port + 1, pages: [] };
  const states = { ...stopped, tpManager: running(status as unknown as TpManagerStatus) };
  const settings = { CONSOLE_PORT: port, KIOSK_PORT: port, KIOSK_APP: "/opt/kiosk" };
  const asked = { ...settings, LOCAL_PORT: 1, NOTIFICATION_PORT: undefined };
  const kept = (setting: string) => ({
    code: "port-of-ours",
    verdict: "warn",
    says:
      `The connector's own tp-manager still uses port ${port}, ` +
      `which the setup file gives to ${setting}.`,
    todo: "Run on the machine: ./launch.sh restart",
  });
  expect(await checkLocalPort(port, states)).toMatchObject(kept("LOCAL_PORT"));
  // KIOSK_PORT is the same: the check of the setup file warns of it.
  expect(await checkPages(asked, states)).toMatchObject([kept("CONSOLE_PORT")]);
  const silent = {
    state: "silent",
    pids: [process.pid],
    failure: "unreachable",
    why: "-",
  } as const;
  const hangs = { ...stopped, tpManager: silent };
  expect(await checkLocalPort(port, hangs)).toMatchObject({ code: "port-in-use" });
  const other = { ...stopped, tpManager: { ...silent, pids: [process.pid + 1] } };
  expect(await checkLocalPort(port, other)).toMatchObject({ code: "port-taken-by" });
});

/** What the doctor finds about a tp-manager whose terminal is connected. */
function foundAbout(
  reported: Pick<TpManagerStatus["terminal"], "terminalId" | "status" | "shown">,
) {
  const terminal = { link: "connected", problem: null, ...reported };
  const payments = { running: 0, inDoubt: 0, notHandedOver: 0 };
  const own = { program: "tp-manager", version: "1", pid: 1, uptimeMs: 1, port: 1 } as const;
  const status: TpManagerStatus = { ...own, terminal, payments };
  const tpManager = { state: "running", pid: 1, status } as const;
  return checkPrograms({ tpManager, supervisor: { state: "stopped" } }, temporaryFolder());
}

test("a terminal without a terminal id is not named", () => {
  const found = foundAbout({ terminalId: "", status: "the terminal answered" });
  expect(found.find(({ check }) => check === "terminal")?.says).toBe(
    "The terminal would accept a payment (no terminal id: the terminal answered)",
  );
});

test("a terminal fact with a counterexample is reported as not relied on", () => {
  const facts = [{ name: "stores-reversals", says: "shows a reversal", holds: false }];
  const found = foundAbout({ terminalId: "1", status: "ready", shown: facts });
  expect(found.filter(({ check }) => check === "assumptions").map(({ says }) => says)).toEqual([
    "The terminal has shown the contrary of this, so the connector does not rely on it " +
      "(stores-reversals): that it shows a reversal",
  ]);
});

test("the bundle has report, versions, setup and logs, and neither secret nor card", async () => {
  const [figures, salts] = ["read-figures", ["salt-1", "salt-2"]];
  const pairs = ['Ki"osk&<pass>%wörd', "Gateway-Sec-99", "operator-secret", "654321", "s3:e/%t"];
  const secrets = [...pairs, ...salts, figures, btoa(`metrics:${figures}`)];
  const [kiosk = "", gateway = "", operator = "", register = "", proxy = ""] = pairs;
  const setup =
    config({ ...base, TERMINAL_MANAGER_PWD: kiosk, GATEWAY_PWD: gateway }) +
    `OPERATOR_LOGIN=boss\nOPERATOR_PWD=${operator}\nTERMINAL_PASSWORD=${register}\n` +
    `NOTIFICATION_DIGEST_SECRETS=${salts.join(" ")}\nMETRICS_LOGIN=metrics:${figures}\n` +
    "GATEWAY_PASSWORT=mistyped-secret\nTICKET_WIDTH=24\n" +
    `PROXY_URL=http://proxy.example\nPROXY_USER=me\nPROXY_PASSWORD=${proxy}\n` +
    "PROXY=http://me:within-a-url@proxy.example\n";
  const data = checkout.dataFolder("bundle", setup);
  const logs = join(data, "logs");
  mkdirSync(logs);
  const basic = Buffer.from(`kiosk:${kiosk}`).toString("base64");
  appendFileSync(
    join(logs, "tp-manager.log"),
    [
      `{"msg":"a frame"}`,
      ...testCards.map((card) => `{"msg":"card ${card} of ${card.replace(/(.{4})/g, "$1 ")}"}`),
      ...secrets.map((secret) => JSON.stringify({ msg: `it was ${secret}`, secret })),
      `x ${basic} y ${encodeURIComponent(kiosk)} z mistyped-secret within-a-url`,
      `http://me:${encodeURIComponent(proxy)}@proxy.example ${btoa(`me:${proxy}`)}`,
      `<wsPassword>${gateway}</wsPassword>`,
      "",
    ].join("\n"),
  );
  writeFileSync(join(logs, "tp-manager.log.20261120033000000"), `{"msg":"older ${gateway}"}\n`);
  const file = join(temporaryFolder(), "support.tar.gz");
  const { out } = await checkout.launch("doctor", "--data", data, "--bundle", file);
  expect(out).toContain("holds no passwords and no card numbers");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const folder = temporaryFolder();
  execFileSync("tar", ["-xzf", file, "-C", folder]);
  const names = execFileSync("find", [".", "-type", "f"], { cwd: folder, encoding: "utf8" });
  expect(names.trim().split("\n").sort()).toEqual([
    "./config.txt",
    "./doctor.json",
    "./logs/tp-manager.log",
    "./logs/tp-manager.log.20261120033000000",
    "./machine.json",
  ]);
  const all = execFileSync("sh", ["-c", "cat $(find . -type f)"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(all).toContain('"a frame"');
  expect(all).toContain("TICKET_WIDTH=24");
  expect(all).toContain("GATEWAY_PWD=[removed]");
  expect(all).toContain('"older [removed]"');
  for (const form of [
    ...secrets,
    "mistyped-secret",
    "within-a-url",
    basic,
    ...[kiosk, proxy].map(encodeURIComponent),
    btoa(`me:${proxy}`),
  ]) {
    expect(all).not.toContain(form);
    expect(all).not.toContain(JSON.stringify(form).slice(1, -1));
  }
  for (const card of testCards) {
    expect(all).not.toContain(card);
    expect(all).not.toContain(card.replace(/(.{4})/g, "$1 "));
  }
  const again = await checkout.launch("doctor", "--data", data, "--bundle", file);
  expect(again).toMatchObject({ code: 64, out: "" });
  expect(again.err).toContain("exists already");
});

test("a clock far from the gateway's, or in the past, is reported", () => {
  const nowMs = systemClock.now();
  const still = { ...systemClock, now: () => nowMs };
  expect(checkClock(still, nowMs).verdict).toBe("ok");
  expect(checkClock(still, nowMs - 300_000)).toMatchObject({
    verdict: "warn",
    says: expect.stringMatching(/ differs by 300 s from the gateway's\.$/),
  });
  const old = { ...systemClock, now: () => 0 };
  expect(checkClock(old, undefined).verdict).toBe("fail");
});

test("a missing browser policy is a warning where foreign pages may call the API", () => {
  const folder = temporaryFolder();
  const page = ["https://kiosk.example"];
  expect(checkBrowsers([], [folder]).verdict).toBe("ok");
  expect(checkBrowsers(page, [folder])).toMatchObject({
    verdict: "warn",
    todo: expect.stringContaining("LocalNetworkAccessAllowedForUrls"),
  });
  writeFileSync(join(folder, "kiosk.json"), '{"LocalNetworkAccessAllowedForUrls": ["*"]}');
  expect(checkBrowsers(page, [folder]).verdict).toBe("ok");
});
