import { existsSync, mkdirSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { readSetupFile } from "../../shared/config/config.ts";
import { replaceSetup, withSetting } from "../../shared/config/config-edit.ts";
import { metaOf } from "../../shared/config/config-field.ts";
import { readEntries } from "../../shared/config/config-file.ts";
import { findSerialPorts, systemRoots, usbAddress } from "../../shared/config/serial-ports.ts";
import { invariant } from "../../shared/invariant.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { defaultDataDirectory, programFile } from "../../shared/version-files.ts";
import { newPassword } from "../demo/settings.ts";
import { everyField, faultsIn } from "../doctor/check-config.ts";
import { checkSerialPort } from "../doctor/check-ports.ts";
import { readText } from "../doctor/check-surroundings.ts";
import { type CommandContext, filled, type Output, shellArgument } from "../output.ts";
import { findProcesses, programSpecs } from "../processes/process-table.ts";
import { dataAsTyped, refuseOtherUser } from "../schedule/entry.ts";
import texts from "../texts-en.json" with { type: "json" };
import { closeFolder } from "./start.ts";

const { questions: ofAll, ofProtocol, hints, given, sandbox, ...says } = texts.configure;
/** The settings with a question, and the answer that is proposed for a new setup file. */
const questions = Object.assign({}, ofAll, ...Object.values(ofProtocol));
const NO_LOGIN = "-";
const CONNECTED_WITHIN_MS = 3_000;
type Streams = Pick<typeof process, "stdin" | "stdout">;
/** The terminal's codes for text that it does not display, and for any other (ECMA-48, SGR). */
const [CONCEALED, PLAIN] = ["\u001b[8m", "\u001b[0m"];

/**
 * Asks for the settings of a first installation, writes the setup file, and returns the exit code.
 * Starts and stops nothing. Throws {@link ProgramExit} when the answers end early, or when the file
 * would be faulty or was changed meanwhile; then the file is as it was.
 */
export async function configure(context: CommandContext, io: Streams = process): Promise<number> {
  const { configFile, dataDirectory, output } = context;
  const before = existsSync(configFile) ? readSetupFile(configFile) : undefined;
  if (before === undefined) refuseOtherUser(dataDirectory);
  const example = readText(join(defaultDataDirectory, "config.example.txt"));
  const start = Object.entries(given).reduce(filledIn, before ?? example);
  // A fault that no question is about is reported before a person has answered in vain.
  refuseFaults(start, (name) => !/_PWD$/.test(name) && !(name in questions));
  const isRunning = programSpecs(dataDirectory).some((spec) => findProcesses(spec).length > 0);
  output.note(says.begin);
  const dialogue = dialogueWith(io, output);
  const text = await interview(start, dialogue, output, isRunning).finally(() => dialogue.close());
  refuseFaults(text);
  const isTrial = (one: string): boolean => valueIn(one, "GATEWAY_URL") === sandbox.GATEWAY_URL;
  const hasStored = existsSync(join(dataDirectory, "supervisor.db"));
  if (isTrial(text) && !isTrial(start) && hasStored) {
    throw new ProgramExit(exitCodes.usage, says.stored);
  }
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  replaceSetup(configFile, before, text);
  await closeFolder(context);
  const values: Readonly<Record<string, string>> = {
    file: configFile,
    program: [process.execPath, programFile("gateway-sandbox")].map(shellArgument).join(" "),
    data: dataAsTyped(dataDirectory),
  };
  const isSimulated = Object.entries(sandbox).every(([name, own]) => valueIn(text, name) === own);
  const next = isSimulated ? [says.simulated] : [];
  for (const one of [says.written, ...next, isRunning ? says.restart : says.start]) {
    output.note(filled(one, (name) => values[name] ?? valueIn(text, name)));
  }
  return exitCodes.ok;
}

/** Returns the value of a setting in the text of a setup file; "": it has none. */
function valueIn(text: string, name: string): string {
  return readEntries(text).entries.find((entry) => entry.name === name)?.value ?? "";
}

/** Returns the text with a value for a setting that has none. */
function filledIn(text: string, [name, value]: readonly [string, string]): string {
  return valueIn(text, name) === "" ? withSetting(text, name, value) : text;
}

/** Throws {@link ProgramExit} if a text has a fault of a setting that `isOurs` names. */
function refuseFaults(text: string, isOurs = (_name: string): boolean => true): void {
  const faults = [...faultsIn(text)].filter(([message]) => isOurs(nameIn(message)));
  if (faults.length === 0) return;
  const lines = faults.map(([message, line]) => `\n  line ${line}: ${message}`);
  throw new ProgramExit(exitCodes.configuration, says.faulty + lines.join(""));
}

/** Returns why no connection can be made, for example ECONNREFUSED; undefined: one can. */
function connectFault(host: string, port: number): Promise<string | undefined> {
  const socket = createConnection({ host, port, timeout: CONNECTED_WITHIN_MS });
  return new Promise<string | undefined>((resolve) => {
    socket.once("connect", () => resolve(undefined));
    socket.once("timeout", () => resolve(`no answer within ${CONNECTED_WITHIN_MS / 1_000} s`));
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  }).finally(() => socket.destroy());
}

const nameIn = (message: string): string => message.replace(/ .*/s, "");

const faultOf = (text: string, name: string): string | undefined =>
  [...faultsIn(text).keys()].find((message) => nameIn(message) === name);

/** Asks all questions, and returns the text of the setup file with the answers. */
async function interview(before: string, dialogue: Dialogue, output: Output, isRunning: boolean) {
  let text = before;
  const of = (name: string): string => valueIn(text, name);
  const ask = async (name: string, proposed = of(name), read = (answer: string) => answer) => {
    const first = questions[name as keyof typeof questions];
    text = await dialogue.ask(text, name, proposed || first, read);
  };
  await ask("TERMINAL_PROTOCOL");
  // A terminal that is reached on a network only is at no serial port.
  const ports = (await findSerialPorts(systemRoots, () => import("serialport")))
    .map(({ path, usb, stableNames: [stable] }) => stable ?? (usb ? usbAddress(usb) : path))
    .filter((port) => faultOf(withSetting(text, "SERIAL_PORT", port), "SERIAL_PORT") === undefined);
  for (const [index, port] of ports.entries()) output.note(`  ${index + 1}  ${port}`);
  const byNumber = (answer: string): string => ports[Number(answer) - 1] ?? answer;
  await ask("SERIAL_PORT", of("SERIAL_PORT") || ports[0], byNumber);
  if (isRunning) output.note(says.notTried);
  else {
    const { says: found, todo } = await checkSerialPort(of("SERIAL_PORT"), undefined);
    output.note(todo === null ? found : `${found} -> ${todo}`);
    if (of("SERIAL_PORT").startsWith("tcp:")) {
      const { hostname, port } = new URL(of("SERIAL_PORT"));
      const fault = await connectFault(hostname.replace(/^\[|\]$/g, ""), Number(port));
      output.note(fault === undefined ? says.reached : says.notReached.replace("{why}", fault));
    }
  }
  const own = Object.entries(ofProtocol).find(([protocol]) => protocol === of("TERMINAL_PROTOCOL"));
  for (const name of Object.keys(own?.[1] ?? {})) await ask(name);
  await ask("CURRENCY");
  const { GATEWAY_URL: simulated, ...others } = sandbox;
  let isSimulator = false;
  await ask("GATEWAY_URL", undefined, (one) => {
    isSimulator = one === says.simulator;
    return isSimulator ? simulated : one;
  });
  if (isSimulator && !["", others.GATEWAY_PWD].includes(of("GATEWAY_PWD"))) {
    throw new ProgramExit(exitCodes.usage, says.stored);
  }
  for (const [name, value] of Object.entries(others)) {
    if (isSimulator) text = withSetting(text, name, value);
    else await ask(name);
  }
  // A kiosk that has run without an operator's login must not lose calls by the key Enter.
  const lacks = of("TERMINAL_MANAGER_PWD") !== "" && !(of("OPERATOR_LOGIN") && of("OPERATOR_PWD"));
  await ask("TERMINAL_MANAGER_LOGIN");
  const without = filledIn(text, ["TERMINAL_MANAGER_PWD", newPassword()]);
  text = filledIn(without, ["OPERATOR_PWD", newPassword()]);
  await ask("OPERATOR_LOGIN", lacks ? NO_LOGIN : undefined);
  if (of("OPERATOR_LOGIN") !== NO_LOGIN) return text;
  return withSetting(withSetting(without, "OPERATOR_LOGIN", ""), "OPERATOR_PWD", "");
}

type Dialogue = ReturnType<typeof dialogueWith>;

/** Returns the questions to a person at a terminal, or to a file of answers. */
function dialogueWith({ stdin, stdout }: Streams, output: Output) {
  const terminal = stdin.isTTY === true;
  const lines = createInterface({ input: stdin, output: stdout, terminal, historySize: 0 });
  const answers = lines[Symbol.asyncIterator]();
  return {
    close: () => lines.close(),
    /**
     * Returns the text with a good answer; Enter accepts what is `proposed`, and `read` makes the
     * value from an answer. Throws {@link ProgramExit} after Ctrl-C, and at the end or a wrong
     * answer of a file.
     */
    async ask(text: string, name: string, proposed: string, read: (answer: string) => string) {
      const { secret: isSecret = false } = metaFor(name);
      const bracket = isSecret && proposed ? says.kept : proposed;
      const question = `${name}${bracket && ` [${bracket}]`}: `;
      const [begin, end] = isSecret && terminal ? [CONCEALED, PLAIN] : ["", terminal ? "" : "\n"];
      output.note(`\n${helpOf(name)}`);
      for (;;) {
        lines.setPrompt(question + begin);
        // `prompt()` would throw after the end of a file, whose lines are kept here.
        stdout.write(question + begin);
        const { done, value = "" } = await answers.next();
        stdout.write(done ? `${end}\n` : end);
        if (done) throw new ProgramExit(exitCodes.usage, says.ended);
        const next = withSetting(text, name, read(value.trim() || proposed));
        const fault = faultOf(next, name);
        if (fault === undefined) return next;
        if (!terminal) throw new ProgramExit(exitCodes.usage, `${fault}\n${says.ended}`);
        output.fault(fault);
      }
    },
  };
}

/** Returns what a setting means, and what a person may answer. */
function helpOf(name: string): string {
  const { help, example } = metaFor(name);
  return `${help} For example: ${example}. ${hints[name as keyof typeof hints] ?? ""}`.trimEnd();
}

function metaFor(name: string) {
  const field = everyField[name];
  invariant(field, `${name} is a setting`);
  return metaOf(field);
}
