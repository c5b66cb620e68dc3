import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { allSwitches, readCommandLine } from "../../../src/simulator/terminal/command-line.ts";
import {
  caisseApProtocol,
  concertProtocol,
} from "../../../src/simulator/terminal/concert/concert-protocols.ts";
import type { TerminalProtocol } from "../../../src/simulator/terminal/machine.ts";
import texts from "../../../src/simulator/terminal/texts.json" with { type: "json" };
import { zvtFaults } from "../../../src/simulator/terminal/zvt/faults.ts";
import { askNames, deviceNames, quirks } from "../../../src/simulator/terminal/zvt/options.ts";
import { zvtProtocol } from "../../../src/simulator/terminal/zvt/zvt-protocol.ts";
import { scriptOf } from "../../support/programs/child-program.ts";
import { runToEnd, startProcess } from "../../support/programs/own-processes.ts";
import { authorisation, controls, LAST_TRANSACTION, REGISTRATION } from "./support/started.ts";
import { ScriptedRegister } from "./zvt/support/register.ts";

const main = scriptOf("simulator/terminal/main.ts");
const running = new Set<ChildProcess>();
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "terminal-simulator-"));
});

afterEach(async () => {
  for (const program of running) await stop(program);
  rmSync(folder, { recursive: true });
});

/** Expects a line of `--help` for every switch of the protocol, with its whole text. */
function expectSwitches(stdout: string, protocol: TerminalProtocol): void {
  const explanations: Readonly<Record<string, string>> = texts.switches;
  for (const [name, { usual }] of Object.entries(allSwitches(protocol))) {
    expect(stdout).toContain(`--${name}`);
    expect(explanations[name], name).toMatch(usual === undefined ? /^[^{}]+$/ : /^.+$/);
    const text = explanations[name]?.replace("{}", String(usual));
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(text);
  }
}

describe("the program", () => {
  test("explains every switch and every fault in --help", async () => {
    const { stdout } = await runToEnd(process.execPath, [main, "--help"]);
    const help = stdout.replaceAll(/\s+/g, " ");
    expectSwitches(stdout, zvtProtocol);
    for (const [name, { description }] of Object.entries(zvtFaults.kinds)) {
      expect(stdout).toContain(`  ${name} `);
      expect(help).toContain(description);
    }
    for (const [name, text] of Object.entries(quirks)) {
      expect(stdout).toContain(`  ${name} `);
      expect(help).toContain(text);
    }
    for (const name of [...deviceNames, ...askNames]) expect(stdout).toContain(`  ${name} `);
  });

  test.each([concertProtocol, caisseApProtocol])(
    "explains the switches and faults of $name with --protocol",
    async (protocol) => {
      const argv = [main, "--protocol", protocol.name, "--help"];
      const { stdout } = await runToEnd(process.execPath, argv);
      const help = stdout.replaceAll(/\s+/g, " ");
      expectSwitches(stdout, protocol);
      for (const [name, { description }] of Object.entries(protocol.faults.kinds)) {
        expect(stdout).toContain(`  ${name} `);
        expect(help).toContain(description);
      }
    },
  );

  test("a device brings its deviations, and other switches add to them or come first", () => {
    const argv = ["--device", "ccv", "--quirk", "latin1", "--ask", "menu", "--ask", "input"];
    const asked = readCommandLine([...argv, "--speeds", "9600,115200"]);
    expect(asked).toMatchObject({
      ask: "start",
      options: {
        options: {
          speeds: [9_600, 115_200],
          behaviour: {
            vending: true,
            quirks: ["refuses-after-update", "latin1"],
            asks: ["menu", "input"],
          },
        },
      },
    });
  });

  test("refuses what it does not know with exit code 64", async () => {
    const argv = [main, "--nonsense"];
    const failed = await runToEnd(process.execPath, argv).catch((error) => error);
    expect(failed).toMatchObject({ code: 64, stderr: expect.stringContaining("--nonsense") });
  });

  test.each([
    { argv: ["--tcp", "here"], says: "127.0.0.1:20007" },
    { argv: ["--t1-ms", "soon"], says: "--t1-ms soon" },
    { argv: ["--fault", "mute:at=noon"], says: "at=noon is none of" },
    { argv: ["--fault", "earthquake"], says: "no fault earthquake" },
    { argv: ["--fault", "mute:at"], says: "at is not key=value" },
    { argv: ["--currency", "Euro"], says: "--currency Euro" },
    { argv: ["--scenario", "/nowhere.json"], says: "cannot read /nowhere.json" },
    { argv: ["--restart-at", "25:00"], says: "03:30" },
    { argv: ["--device", "abacus"], says: "card-complete or hobex" },
    { argv: ["--quirk", "sings"], says: "latin1" },
    { argv: ["--ask", "riddle"], says: "menu or input" },
    { argv: ["--speeds", "9600,300"], says: "9600,19200" },
  ])("says what is wrong with $argv", ({ argv, says }) => {
    expect(readCommandLine(argv)).toEqual({
      ask: "wrong",
      problem: expect.stringContaining(says),
    });
  });

  test("says where it listens, and its state file outlives it", async () => {
    const first = await start("--state", join(folder, "state.sqlite"));
    await expect
      .poll(first.printed)
      .toBe(`listening ${first.ready.tcp}\ncontrol ${first.ready.control}\n`);
    const paid = await pay(first.ready.tcpPort);
    const ledger = await json(`${first.ready.control}/ledger`);
    expect(ledger).toMatchObject({ charged: 1200, entries: [{ kind: "charge", final: true }] });
    expect(await stop(first.program)).toBe(0);
    expect(existsSync(join(folder, "ready.json"))).toBe(false);

    const second = await start("--state", join(folder, "state.sqlite"));
    expect(await json(`${second.ready.control}/ledger`)).toEqual(ledger);
    const register = await ScriptedRegister.tcp(second.ready.tcpPort);
    await register.run(REGISTRATION);
    expect((await register.run(LAST_TRANSACTION))[1]).toBe(paid);
    await register.close();
  });

  test("plays a scenario file and speaks over a pseudo-terminal", async () => {
    const scenario = join(folder, "scenario.json");
    const payments = [{ outcome: "decline:05" }, { faults: ["refuse:code=9c"] }];
    writeFileSync(scenario, JSON.stringify({ payments }));
    const link = join(folder, "tty");
    const { ready } = await start("--no-tcp", "--pty-link", link, "--scenario", scenario);
    expect(ready).toMatchObject({ tcp: null, pty: expect.stringMatching(/^\/dev\//) });
    const register = await ScriptedRegister.serial(link);
    await register.run(REGISTRATION);
    expect((await register.run(authorisation(1200))).at(-1)).toBe("061e0105");
    expect(await register.run(authorisation(1200))).toEqual(["849c00"]);
    await register.close();
  });

  test("cannot start where port or ready file cannot be had, and says so", async () => {
    const { ready } = await start();
    const argv = [main, "--tcp", `127.0.0.1:${ready.tcpPort}`];
    const failed = await runToEnd(process.execPath, argv).catch((e) => e);
    expect(failed).toMatchObject({ code: 69, stderr: expect.stringContaining("EADDRINUSE") });
    const nowhere = [main, "--tcp", "127.0.0.1:0", "--ready-file", join(folder, "no", "where")];
    const stopped = await runToEnd(process.execPath, nowhere).catch((error) => error);
    expect(stopped).toMatchObject({ code: 69, stderr: expect.stringContaining("ENOENT") });
  });
});

interface Ready {
  readonly tcp: string | null;
  readonly tcpPort: number;
  readonly pty: string | null;
  readonly control: string;
}

async function start(
  ...switches: string[]
): Promise<{ program: ChildProcess; ready: Ready; printed: () => string }> {
  const readyFile = join(folder, "ready.json");
  const tcp = switches.includes("--no-tcp") ? [] : ["--tcp", "127.0.0.1:0"];
  const argv = [
    main,
    ...tcp,
    "--control",
    "0",
    "--instant",
    "--ready-file",
    readyFile,
    ...switches,
  ];
  const program = startProcess(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  running.add(program);
  let printed = "";
  program.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  while (!existsSync(readyFile)) {
    if (program.exitCode !== null) throw new Error(`exit code ${program.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { program, ready: JSON.parse(readFileSync(readyFile, "utf8")), printed: () => printed };
}

async function stop(program: ChildProcess): Promise<number | null> {
  running.delete(program);
  if (program.exitCode === null) {
    program.kill("SIGTERM");
    await once(program, "exit");
  }
  return program.exitCode;
}

/** Answers the report. */
async function pay(port: number): Promise<string | undefined> {
  const register = await ScriptedRegister.tcp(port);
  await register.run(REGISTRATION);
  const messages = await register.run(authorisation(1200));
  expect(controls(messages).at(-1)).toBe("060f");
  await register.close();
  return messages.find((message) => message.startsWith("040f"));
}

async function json(url: string): Promise<unknown> {
  return await (await fetch(url)).json();
}
