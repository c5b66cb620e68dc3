import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { configure } from "../../src/launcher/commands/configure.ts";
import { checkConfig } from "../../src/launcher/doctor/check-config.ts";
import { installationAt, settingsIn } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { protocols } from "../../src/simulator/terminal/registry.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { recordedOutput } from "../support/programs/recorded-output.ts";
import { completeConfig } from "./fixtures/temporary-checkout.ts";

const gateway = [
  "https://gateway.example",
  "shop",
  "a-password",
  "1000",
  "5",
  "https://a.example/n",
];
/** The order of the questions, as the administrator's book has it. */
const book = readFileSync("docs/administrator.md", "utf8");
const [, list = ""] = /in this\sorder:\n\n(.*?)\n\n/s.exec(book) ?? [];
const questions = list.match(/[A-Z]+_\w+|CURRENCY/g) ?? [];
const all = ["concert", "tcp://127.0.0.1:1", "CHF", ...gateway, "till", "boss"];
const enters = Array(all.length).fill("");

/** A dialogue in this process; `typed`: on a terminal, as a person types. */
class Sitting {
  readonly site = installationAt(join(temporaryFolder(), "data"));
  readonly said: string[] = [];
  readonly #input = new PassThrough();
  readonly #output = new PassThrough();
  displayed = "";
  readonly ended: Promise<number>;

  constructor(before?: string, typed = false) {
    mkdirSync(this.site.dataDirectory);
    if (before !== undefined) writeFileSync(this.site.configFile, before, { mode: 0o600 });
    this.#output.on("data", (bytes) => {
      this.displayed += String(bytes);
    });
    const context = { ...this.site, clock: systemClock, output: recordedOutput(this.said) };
    const stdin = Object.assign(this.#input, { isTTY: typed });
    this.ended = configure(context, { stdin, stdout: this.#output } as never);
    this.ended.catch(() => undefined);
  }

  type(...answers: readonly string[]): this {
    this.#input.write(answers.map((answer) => `${answer}\n`).join(""));
    return this;
  }

  press(key: string): this {
    this.#input.write(key);
    return this;
  }

  end(): this {
    this.#input.end();
    return this;
  }

  async untilAsked(question: string): Promise<void> {
    await expect.poll(() => this.displayed).toContain(question);
  }

  get text(): string | undefined {
    const { configFile } = this.site;
    return existsSync(configFile) ? readFileSync(configFile, "utf8") : undefined;
  }
}

test("a first installation is asked for what it needs, and gets passwords of its own", async () => {
  const sitting = new Sitting().type(...all).end();
  expect(await sitting.ended).toBe(0);
  const value = settingsIn(sitting.site.configFile);
  expect(value("TERMINAL_PROTOCOL")).toBe("concert");
  expect(["SERIAL_PORT", "LOCAL_PORT", "CURRENCY", "UPDATE_TIME"].map(value)).toEqual([
    "tcp://127.0.0.1:1",
    "8765",
    "CHF",
    "03:30",
  ]);
  expect(["TERMINAL_MANAGER_LOGIN", "OPERATOR_LOGIN"].map(value)).toEqual(["till", "boss"]);
  const passwords = ["TERMINAL_MANAGER_PWD", "OPERATOR_PWD"].map((name) => value(name) ?? "");
  expect(new Set(passwords).size).toBe(2);
  for (const password of passwords) {
    expect(password).toMatch(/^[\w-]{24}$/);
    expect(sitting.displayed + sitting.said.join()).not.toContain(password);
  }
  expect((statSync(sitting.site.configFile).mode & 0o777).toString(8)).toBe("600");
  expect(sitting.displayed.match(/^[A-Z_]+/gm)).toHaveLength(all.length);
  expect(checkConfig(sitting.site).findings.map(({ code }) => code)).toEqual(["setup-right"]);
  expect(sitting.said.join("\n")).toMatch(
    /on the network: tcp:\/\/127\.0\.0\.1:1\.\nNo connection to it can be made \(ECONNREFUSED\)/,
  );
  expect(sitting.said.at(-1)).toContain("Start the connector with ./launch.sh --data");
});

test("the simulator in place of a gateway needs no answers about it", async () => {
  const terminal = createServer();
  await new Promise<void>((resolve) => terminal.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void terminal.close());
  const { port } = terminal.address() as AddressInfo;
  const sitting = new Sitting().type("", `tcp://127.0.0.1:${port}`, "", "simulator", "", "").end();
  expect(await sitting.ended).toBe(0);
  const value = settingsIn(sitting.site.configFile);
  expect(value("GATEWAY_URL")).toBe("http://127.0.0.1:8770");
  expect(["TERMINAL_MANAGER_LOGIN", "OPERATOR_LOGIN"].map(value)).toEqual(["kiosk", "operator"]);
  expect(sitting.said).toContain("A connection to it can be made.");
  expect(sitting.said.join("\n")).toMatch(
    /(gateway-sandbox|gateway\/main\.ts).* --password simulated .* --category 5 /,
  );
});

test("a nexo terminal needs its name, its root certificate and its key", async () => {
  const key = ["kiosk-key", "2", "a phrase of the shop"];
  const nexo = ["P400Plus-275039202", "", "/etc/kiosk/root.pem", ...key];
  const sitting = new Sitting().type("nexo", "tcp://127.0.0.1:1", ...nexo, ...all.slice(2)).end();
  expect(await sitting.ended).toBe(0);
  const value = settingsIn(sitting.site.configFile);
  const names = ["NEXO_POIID", "NEXO_ENVIRONMENT", "NEXO_CA_FILE", "NEXO_KEY_IDENTIFIER"];
  expect(names.map(value)).toEqual([nexo[0], "live", nexo[2], "kiosk-key"]);
  expect(["NEXO_KEY_VERSION", "NEXO_KEY_PASSPHRASE"].map(value)).toEqual(key.slice(1));
  expect(checkConfig(sitting.site).findings.map(({ code }) => code)).toEqual(["setup-right"]);
});

test("the question about the protocol names every one", async () => {
  const sitting = new Sitting().end();
  await expect(sitting.ended).rejects.toThrow(/^Nothing was written/);
  const [help] = sitting.said.filter((line) => line.includes("Protocol that the terminal speaks"));
  for (const { name } of protocols) expect(help).toContain(name);
});

test("a nexo terminal for tests needs no key, and one on a serial port is refused", async () => {
  const nexo = [
    "nexo",
    "tcp://127.0.0.1:1",
    "P400Plus-275039202",
    "test",
    "/etc/root.pem",
    "",
    "",
    "",
  ];
  const sitting = new Sitting().type(...nexo, ...all.slice(2)).end();
  expect(await sitting.ended).toBe(0);
  expect(checkConfig(sitting.site).findings.map(({ code }) => code)).toEqual(["setup-right"]);
  const wrong = new Sitting().type("nexo", "/dev/ttyS0").end();
  await expect(wrong.ended).rejects.toThrow(/^SERIAL_PORT must be the terminal's address/);
});

const address = "http://127.0.0.1:8770";

test("after the address of a simulator every question is asked, and answers stay", async () => {
  const typed = all.with(3, address);
  const sitting = new Sitting().type(...typed).end();
  expect(await sitting.ended).toBe(0);
  const value = settingsIn(sitting.site.configFile);
  expect(typed.map((_, at) => value(questions[at] ?? ""))).toEqual(typed);
  expect(sitting.displayed.match(/^[A-Z_]+/gm)).toEqual(questions);
  expect(sitting.said.join("\n")).not.toContain("--password");
});

test.each([
  ["simulator", false],
  [address, true],
])("another gateway's transactions and password are kept from %s", async (answer, hasStored) => {
  const sitting = new Sitting(completeConfig);
  if (hasStored) writeFileSync(join(sitting.site.dataDirectory, "supervisor.db"), "");
  sitting.type("", "", "", answer, ...enters).end();
  await expect(sitting.ended).rejects.toThrow(/^Nothing was written: this data folder is set up/);
  expect(sitting.text).toBe(completeConfig);
});

const old = `# our kiosk\r\nMY_NOTE=1\r\n${completeConfig.replaceAll("\n", "\r\n")}`;

test("Enter keeps values, comments and unknown lines, and makes no operator's login", async () => {
  const sitting = new Sitting(old).type(...enters).end();
  expect(await sitting.ended).toBe(0);
  expect(sitting.text).toBe(`${old}TERMINAL_PROTOCOL=zvt\r\nCURRENCY=EUR\r\n`);
  expect(sitting.displayed).toContain("GATEWAY_PWD [the present one]: ");
  expect(sitting.displayed).not.toContain("not-a-secret");
});

test("a file that is edited meanwhile is not overwritten", async () => {
  const sitting = new Sitting(old).type(...enters.slice(1));
  await sitting.untilAsked("OPERATOR_LOGIN [-]: ");
  writeFileSync(sitting.site.configFile, `${old}LOG_DAYS=7\r\n`);
  sitting.type("");
  await expect(sitting.ended).rejects.toThrow(/was changed by another program meanwhile/);
  expect(sitting.text).toBe(`${old}LOG_DAYS=7\r\n`);
});

test.each([
  ["no answers", [], undefined],
  ["too few answers", all.slice(0, -1), undefined],
  ["a wrong answer", ["zvd", ...all.slice(1)], /^TERMINAL_PROTOCOL must be one of zvt, concert/],
  ["equal logins", [...all.slice(0, -1), "till"], /^OPERATOR_LOGIN must differ from TERMINAL_MAN/],
])("%s in a file end it without a change", async (_what, answers, why) => {
  for (const before of [undefined, old]) {
    const sitting = new Sitting(before).type(...answers).end();
    const exit = { exitCode: 64, message: expect.stringMatching(why ?? /^Nothing was written/) };
    await expect(sitting.ended).rejects.toMatchObject(exit);
    await expect(sitting.ended).rejects.toThrow(
      /or edit the setup file: data\/config\.example\.txt/,
    );
    expect(sitting.text).toBe(before);
  }
});

test("at a terminal a wrong answer is asked for again, and Ctrl-C changes nothing", async () => {
  const sitting = new Sitting(old, true).type("zvd", "zvt", "", "USD");
  await sitting.untilAsked("GATEWAY_URL [http://127.0.0.1:8080]: ");
  expect(sitting.displayed.match(/TERMINAL_PROTOCOL \[zvt\]: /g)?.length).toBeGreaterThan(1);
  expect(sitting.said.join("\n")).toContain("TERMINAL_PROTOCOL must be one of zvt");
  sitting.press("\u0003");
  await expect(sitting.ended).rejects.toThrow(/^Nothing was written/);
  expect(sitting.text).toBe(old);
});

test("a password is not displayed on a terminal", async () => {
  const sitting = new Sitting(old, true).type(...enters.slice(0, 5));
  await sitting.untilAsked("GATEWAY_PWD [the present one]: \u001b[8m");
  sitting.type("typed-by-hand");
  await sitting.untilAsked("\u001b[0mGATEWAY_WEBSITE_ID");
  const [, concealed = ""] = sitting.displayed.split("\u001b[8m");
  expect(concealed.slice(0, concealed.indexOf("\u001b[0m"))).toContain("typed-by-hand");
  sitting.press("\u0003");
  await expect(sitting.ended).rejects.toThrow(/^Nothing was written/);
});

test.each([
  ["a line without a question", `${old}LOG_DAYS=0\r\n`, /these faults.*\n {2}line 14: LOG_DAYS/],
  ["a line that is none", `${old}rubbish\r\n`, /\n {2}line 14: is not NAME=value/],
])("%s that is faulty is named before the first question", async (_what, before, why) => {
  const sitting = new Sitting(before).type(...enters).end();
  await expect(sitting.ended).rejects.toMatchObject({
    exitCode: 78,
    message: expect.stringMatching(why),
  });
  expect([sitting.displayed, sitting.text]).toEqual(["", before]);
});
