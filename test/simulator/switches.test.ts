import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { readCommandLine as readSandbox, switches } from "../../src/simulator/gateway/switches.ts";
import type { Asked } from "../../src/simulator/switch-table.ts";
import { allSwitches, readCommandLine } from "../../src/simulator/terminal/command-line.ts";
import {
  caisseApProtocol,
  concertProtocol,
} from "../../src/simulator/terminal/concert/concert-protocols.ts";
import { nexoProtocol } from "../../src/simulator/terminal/nexo/nexo-protocol.ts";
import { protocols } from "../../src/simulator/terminal/registry.ts";
import { zvtProtocol } from "../../src/simulator/terminal/zvt/zvt-protocol.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

const folder = temporaryFolder(afterAll);
const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

/** What a switch does to the options (or to the file that it names), and values that it refuses. */
interface Tried {
  readonly given: readonly string[];
  readonly does: object;
  readonly refused?: readonly string[];
}

const scenario = file(
  "scenario.json",
  '{"faults": ["mute:at=report"], "payments": [{"outcome": "decline:05", "hostMs": 7}]}',
);
const behaviour = (does: object): object => ({ options: { options: { behaviour: does } } });
const device = (does: object): object => ({ options: { options: { device: does } } });
const optionsAre = (does: object): object => ({ options: { options: does } });
const duration = (group: string, key: string): Tried => ({
  given: ["7"],
  does: optionsAre({ [group]: { [key]: 7 } }),
  refused: ["-1", "1.5", "soon", "1000000000"],
});

const terminal: Readonly<Record<string, Tried>> = {
  protocol: { given: ["zvt"], does: { options: { protocol: zvtProtocol } }, refused: ["ZVT", ""] },
  tcp: {
    given: ["localhost:0"],
    does: optionsAre({ tcp: { host: "localhost", port: 0 } }),
    refused: ["here", "host:65536", ":1"],
  },
  "no-tcp": { given: [], does: optionsAre({ tcp: null }) },
  pty: { given: [], does: optionsAre({ pty: { link: null } }) },
  "pty-link": { given: ["/tmp/x"], does: optionsAre({ pty: { link: "/tmp/x" } }) },
  serial: {
    given: ["/dev/ttyUSB0"],
    does: optionsAre({ serial: { path: "/dev/ttyUSB0", baudRate: 9_600, stopBits: 2 } }),
  },
  "baud-rate": {
    given: ["19200"],
    does: optionsAre({ serial: { baudRate: 19_200 } }),
    refused: ["fast", "0"],
  },
  "stop-bits": { given: ["1"], does: optionsAre({ serial: { stopBits: 1 } }), refused: ["0", "3"] },
  "line-speed": { given: ["9600"], does: optionsAre({ lineSpeed: 9_600 }), refused: ["0", "x"] },
  speeds: {
    given: ["9600,57600"],
    does: optionsAre({ speeds: [9_600, 57_600] }),
    refused: ["300"],
  },
  control: { given: ["0"], does: optionsAre({ controlPort: 0 }), refused: ["65536", "x"] },
  "ready-file": { given: ["/tmp/r"], does: { readyFile: "/tmp/r" } },
  state: { given: ["/tmp/s"], does: optionsAre({ stateFile: "/tmp/s" }) },
  instant: { given: [], does: optionsAre({ pace: { customerMs: 0, hostMs: 0 } }) },
  "customer-delay-ms": duration("pace", "customerMs"),
  "card-wait-ms": duration("pace", "cardWaitMs"),
  "walk-away-ms": duration("pace", "walkAwayMs"),
  "host-delay-ms": duration("pace", "hostMs"),
  "reversal-ms": duration("pace", "reversalMs"),
  "goods-pause-ms": duration("pace", "goodsPauseMs"),
  "administration-ms": duration("pace", "administrationMs"),
  "reboot-ms": duration("pace", "rebootMs"),
  "speed-change-ms": duration("pace", "speedChangeMs"),
  "t1-ms": duration("timers", "t1Ms"),
  "t2-ms": duration("timers", "t2Ms"),
  "t3-ms": duration("timers", "t3Ms"),
  "t4-ms": duration("timers", "t4Ms"),
  outcome: {
    given: ["decline:05"],
    does: behaviour({ outcome: { decline: 5 } }),
    refused: ["decline:00", "perhaps"],
  },
  card: { given: ["visa"], does: behaviour({ card: "visa" }), refused: ["Visa"] },
  customer: { given: ["manual"], does: behaviour({ customer: "manual" }), refused: ["me"] },
  currency: {
    given: ["CHF,978"],
    does: behaviour({ currencies: ["0756", "0978"] }),
    refused: ["XYZ"],
  },
  receipts: { given: ["merchant"], does: behaviour({ receipts: "merchant" }), refused: ["none"] },
  language: { given: ["it"], does: behaviour({ language: "it" }), refused: ["pt"] },
  vending: { given: [], does: behaviour({ vending: true }) },
  "no-auto-reversal": { given: [], does: behaviour({ autoReversal: false }) },
  "hides-unacknowledged": { given: [], does: behaviour({ repeatsWithoutAck: false }) },
  "knows-1f1f": { given: [], does: behaviour({ receiptNumberCheck: true }) },
  "knows-1f73": { given: [], does: behaviour({ messageIds: true }) },
  device: { given: ["ccv"], does: behaviour({ vending: true }), refused: ["CCV"] },
  quirk: { given: ["latin1"], does: behaviour({ quirks: ["latin1"] }), refused: ["odd"] },
  ask: { given: ["menu"], does: behaviour({ asks: ["menu"] }), refused: ["why"] },
  "require-registration": { given: [], does: behaviour({ registrationRequired: true }) },
  "terminal-id": {
    given: ["12345678"],
    does: device({ terminalId: "12345678" }),
    refused: ["1234567", "1234567x"],
  },
  "serial-number": {
    given: ["123456"],
    does: device({ serialNumber: "123456" }),
    refused: ["12345", "12345x", "1".repeat(22)],
  },
  "contract-number": {
    given: ["K 1"],
    does: device({ contractNumber: "K 1" }),
    refused: ["", "x".repeat(16), "ä"],
  },
  password: { given: ["123456"], does: device({ password: "123456" }), refused: ["12345"] },
  "first-receipt": {
    given: ["9999"],
    does: behaviour({ firstReceiptNumber: 9_999 }),
    refused: ["0", "10000"],
  },
  "first-trace": {
    given: ["999999"],
    does: behaviour({ firstTrace: 999_999 }),
    refused: ["0", "1000000"],
  },
  "clock-offset-ms": {
    given: ["-60000"],
    does: device({ clockOffsetMs: -60_000 }),
    refused: ["x"],
  },
  "restart-at": {
    given: ["03:30"],
    does: behaviour({ restartAt: "03:30" }),
    refused: ["24:00", "3:30"],
  },
  fault: {
    given: ["mute:at=report"],
    does: optionsAre({
      faults: [{ name: "mute", arguments: expect.objectContaining({ at: "report" }) }],
    }),
    refused: ["earthquake", "mute:at=noon", "mute:at", "toString"],
  },
  scenario: {
    given: [scenario],
    does: optionsAre({
      faults: [{ name: "mute" }],
      payments: [{ outcome: { decline: 5 }, hostMs: 7 }],
    }),
    refused: [join(folder, "nowhere.json"), file("broken.json", "{"), file("odd.json", '{"x": 1}')],
  },
};

const needed = ["--database", ":memory:"];
const credentials = ["--login", "l", "--password", "p", "--website", "107"];
const account = { login: "other", password: "q", websites: [{ id: 8, currency: "CHF" }] };
const key = file("key.pem", "a key");
const certificate = file("certificate.pem", "a certificate");
const mine = (does: object): object => ({ options: { accounts: [does] } });
const website = (does: object): object => mine({ websites: [does] });

const sandbox: Readonly<Record<string, Tried & { readonly with?: readonly string[] }>> = {
  host: { given: ["::1"], does: { options: { host: "::1" } } },
  port: { given: ["0"], does: { options: { port: 0 } }, refused: ["65536", "x", "-1"] },
  database: {
    given: ["/tmp/d.db"],
    does: { options: { database: "/tmp/d.db" } },
    with: credentials,
  },
  account: {
    given: [file("account.json", JSON.stringify(account))],
    does: mine(account),
    refused: [join(folder, "nowhere.json"), file("text.json", "{"), file("empty.json", "{}")],
    with: needed,
  },
  login: {
    given: ["me"],
    does: mine({ login: "me" }),
    with: [...needed, "--password", "p", "--website", "107"],
  },
  password: {
    given: ["word"],
    does: mine({ password: "word" }),
    with: [...needed, "--login", "l", "--website", "107"],
  },
  website: {
    given: ["99999999999"],
    does: website({ id: 99_999_999_999, currency: "EUR" }),
    refused: ["0", "x", "100000000000"],
    with: [...needed, "--login", "l", "--password", "p"],
  },
  currency: { given: ["CHF"], does: website({ currency: "CHF" }) },
  salt: { given: ["s alt"], does: website({ salt: "s alt" }) },
  category: {
    given: ["42=Tickets"],
    does: website({ categories: [{ id: 42, label: "Tickets" }] }),
    refused: ["0", "x=Tickets"],
  },
  fault: {
    given: ["latency:delayMs=500"],
    does: { options: { faults: [{ kind: "latency", delayMs: 500 }] } },
    refused: ["explode", "latency:delayMs=x"],
  },
  "auto-pay": { given: [], does: { options: { autoPay: true } } },
  "payments-wait": { given: [], does: { options: { paymentsWait: true } } },
  "website-id-mandatory": { given: [], does: { options: { websiteIdMandatory: true } } },
  mail: {
    given: ["smtp://[::1]:2525"],
    does: { options: { mail: { host: "::1", port: 2_525 } } },
    refused: ["smtp://mail.example.test:25", "smtp://127.0.0.1", "smtp://localhost:0", "smtp:x"],
  },
  "tls-key": {
    given: [key],
    does: { options: { tls: { key: "a key" } } },
    refused: [join(folder, "nowhere.pem")],
    with: [...needed, ...credentials, "--tls-cert", certificate],
  },
  "tls-cert": {
    given: [certificate],
    does: { options: { tls: { cert: "a certificate" } } },
    refused: [join(folder, "nowhere.pem")],
    with: [...needed, ...credentials, "--tls-key", key],
  },
  "tls-self-signed": {
    given: [join(folder, "made.pem")],
    does: { options: { tls: { cert: expect.stringContaining("BEGIN CERTIFICATE") } } },
  },
  "ready-file": { given: ["/tmp/r"], does: { readyFile: "/tmp/r" } },
};

/** Of the table above what every terminal has. */
const general = Object.fromEntries(
  Object.entries(terminal).filter(([name]) => !Object.hasOwn(zvtProtocol.switches, name)),
);
const fault = (name: string): Tried => ({
  given: [name],
  does: optionsAre({ faults: [{ name: name.split(":")[0] }] }),
});
const anyNumber: Tried = {
  given: ["12345"],
  does: device({ serialNumber: "12345" }),
  refused: ["", "12345x", "1".repeat(21)],
};
const lines: Readonly<Record<string, Tried>> = {
  ...general,
  "serial-number": anyNumber,
  serial: {
    given: ["/dev/ttyACM0"],
    does: optionsAre({
      serial: { path: "/dev/ttyACM0", dataBits: 7, parity: "even", stopBits: 1 },
    }),
  },
  line: {
    given: ["8N1"],
    does: optionsAre({ serial: { dataBits: 8, parity: "none" } }),
    refused: ["8n1", "7O1"],
  },
  report: { given: ["blank"], does: behaviour({ report: "blank" }), refused: ["none"] },
  "enq-tries": { given: ["0"], does: optionsAre({ enqTries: 0 }), refused: ["-1"] },
  "answer-ms": duration("timers", "answerMs"),
  "session-ms": duration("timers", "sessionMs"),
  "silence-ms": duration("timers", "silenceMs"),
  "enq-pause-ms": duration("timers", "enqPauseMs"),
  scenario: {
    given: [file("plain.json", '{"payments": [{"outcome": "approve", "faults": ["no-reply"]}]}')],
    does: optionsAre({ payments: [{ outcome: "approve", faults: [{ name: "no-reply" }] }] }),
  },
};
const fixedTerminal: Readonly<Record<string, Tried>> = {
  ...lines,
  protocol: { given: ["concert"], does: { options: { protocol: concertProtocol } } },
  variant: {
    given: ["e-ticket"],
    does: behaviour({ variant: "e-ticket" }),
    refused: ["E", "ticket"],
  },
  fault: { ...fault("status:as=5"), refused: ["not-done", "status:as=0"] },
};
const taggedTerminal: Readonly<Record<string, Tried>> = {
  ...lines,
  protocol: { given: ["caisse-ap"], does: { options: { protocol: caisseApProtocol } } },
  session: { given: [], does: optionsAre({ sessions: true }) },
  "gap-ms": duration("timers", "gapMs"),
  fault: { ...fault("not-done:af=13"), refused: ["zero-amount", "not-done:af=14"] },
};

const nexoTerminal: Readonly<Record<string, Tried>> = {
  ...general,
  "serial-number": anyNumber,
  protocol: { given: ["nexo"], does: { options: { protocol: nexoProtocol } } },
  environment: { given: ["live"], does: behaviour({ environment: "live" }), refused: ["LIVE"] },
  certificate: { given: ["legacy"], does: behaviour({ certificate: "legacy" }), refused: ["new"] },
  "no-key": { given: [], does: behaviour({ passphrase: null }) },
  passphrase: { given: ["a phrase"], does: behaviour({ passphrase: "a phrase" }), refused: ["é"] },
  "key-identifier": {
    given: ["shop"],
    does: behaviour({ keyIdentifier: "shop" }),
    refused: ["", "a b"],
  },
  "key-version": { given: ["0"], does: behaviour({ keyVersion: 0 }), refused: ["-1", "one"] },
  notify: {
    given: ["https://127.0.0.1:8843"],
    does: behaviour({ notifyUrl: "https://127.0.0.1:8843" }),
    refused: ["http://127.0.0.1", "https://127.0.0.1/a"],
  },
  "ca-file": { given: ["/tmp/root.pem"], does: behaviour({ caFile: "/tmp/root.pem" }) },
  serial: {
    given: ["/dev/ttyUSB0"],
    does: optionsAre({ serial: { path: "/dev/ttyUSB0", baudRate: 9_600, stopBits: 1 } }),
  },
  scenario: {
    given: [file("nexo.json", '{"payments": [{"outcome": "approve", "faults": ["busy"]}]}')],
    does: optionsAre({ payments: [{ outcome: "approve", faults: [{ name: "busy" }] }] }),
  },
  fault: { ...fault("busy"), refused: ["mute:at=report", "status"] },
};

type Read = (argv: readonly string[]) => Asked<unknown>;

function tryAll(
  read: Read,
  names: readonly string[],
  tried: Readonly<Record<string, Tried & { readonly with?: readonly string[] }>>,
  usual: readonly string[],
): void {
  const help = read(["--help"]) as { readonly text: string };

  test("every switch is tried here", () => {
    expect(names.toSorted()).toEqual(Object.keys(tried).toSorted());
  });

  test.each(Object.entries(tried))("--%s", (name, { given, does, refused = [], with: others }) => {
    const argv = others ?? usual;
    expect(help.text).toMatch(new RegExp(`^  --${name}( [^ ]+)?( |$)`, "m"));
    // A value that begins with a minus sign needs the other form.
    const one = given.map((value) => `--${name}=${value}`);
    const asked = read([...argv, ...(one.length > 0 ? one : [`--${name}`])]);
    expect(asked).toMatchObject({ ask: "start", ...does });
    for (const value of refused) {
      const wrong = read([...argv, `--${name}=${value}`]);
      expect(wrong).toEqual({
        ask: "wrong",
        problem: expect.stringContaining(`--${name} ${value} cannot be used: `),
      });
    }
    if (given.length === 0) return;
    const apart = read([...argv, `--${name}`, ...given]);
    if (!given[0]?.startsWith("-")) expect(apart).toMatchObject({ ask: "start", ...does });
    expect(read([...argv, `--${name}`])).toMatchObject({ ask: "wrong" });
  });

  test("--help has a line for each switch and ends with exit code 0", () => {
    expect(help).toMatchObject({ ask: "help" });
    const documented = [...help.text.matchAll(/^ {2}--([a-z0-9-]+)/gm)].map(([, name]) => name);
    expect(documented).toEqual([...names, "help"]);
    for (const line of help.text.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });

  test("a switch that takes one value is refused a second value", () => {
    const argv = [...usual, "--ready-file", "a", "--ready-file", "b"];
    expect(read(argv)).toEqual({ ask: "wrong", problem: "--ready-file is given 2 times" });
  });

  test("an argument that is no switch is refused", () => {
    for (const argv of [["--nonsense"], ["extra"], ["--no-help"]]) {
      expect(read([...usual, ...argv])).toMatchObject({ ask: "wrong" });
    }
  });
}

describe("the simulated terminal", () => {
  tryAll(readCommandLine, Object.keys(allSwitches(zvtProtocol)), terminal, []);
});

describe.each([
  { protocol: concertProtocol, tried: fixedTerminal },
  { protocol: caisseApProtocol, tried: taggedTerminal },
  { protocol: nexoProtocol, tried: nexoTerminal },
])("the simulated terminal of $protocol.name", ({ protocol, tried }) => {
  const read: Read = (argv) => {
    const named = argv.some((argument) => argument.startsWith("--protocol"));
    return readCommandLine(named ? argv : ["--protocol", protocol.name, ...argv]);
  };
  tryAll(read, Object.keys(allSwitches(protocol)), tried, []);
});

test.each(protocols)("--help of $name has the defaults of its own", ({ name, title, defaults }) => {
  const asked = readCommandLine(["--protocol", name, "--help"]);
  const text = asked.ask === "help" ? asked.text.replaceAll(/\s+/g, " ") : "";
  expect(text).toContain(`A simulated card terminal that speaks ${title},`);
  expect(text).toMatch(new RegExp(`--card-wait-ms N [^;]*; default ${defaults.pace.cardWaitMs} `));
  const { serialNumber } = defaults.device;
  expect(text).toMatch(new RegExp(`--serial-number DIGITS [^;]*; default ${serialNumber} `));
  const given = readCommandLine(["--protocol", name, "--serial-number", serialNumber]);
  expect(given).toMatchObject({ ask: "start" });
});

describe("the gateway sandbox", () => {
  const usual = [...needed, ...credentials];
  tryAll(readSandbox, Object.keys(switches), sandbox, usual);

  test("the certificate is written to the file that the switch names", () => {
    const path = join(folder, "asked-for.pem");
    readSandbox([...usual, "--tls-self-signed", path]);
    expect(readFileSync(path, "utf8")).toContain("BEGIN CERTIFICATE");
  });
});
