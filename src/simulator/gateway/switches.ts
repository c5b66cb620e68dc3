import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { z } from "zod";
import { systemClock } from "../../shared/time.ts";
import { type AccountInput, accountFileSchema, type Category } from "./account.ts";
import { type FaultInput, faultKinds, parseFault } from "./faults/fault.ts";
import type { Tls } from "./http/app.ts";
import { describeIssues } from "./http/request.ts";
import { selfSignedTls } from "./http/self-signed.ts";
import type { SandboxOptions } from "./sandbox.ts";

/** The command line of the sandbox: one table for parsing and for --help. */

interface Switch {
  /** Name of the value in --help; a switch without one is on or off. */
  readonly value?: string;
  readonly multiple?: boolean;
  readonly help: string;
}

const switches = {
  host: { value: "ADDRESS", help: "address to listen on (default 127.0.0.1)" },
  port: { value: "NUMBER", help: "port to listen on, 0 for any free one (default 8080)" },
  database: { value: "FILE", help: "SQLite file for orders; :memory: keeps nothing" },
  account: {
    value: "FILE",
    multiple: true,
    help: "JSON file of one merchant or a list of them, see README.md",
  },
  login: { value: "TEXT", help: "wsLogin of an account without a file" },
  password: { value: "TEXT", help: "wsPassword of that account" },
  website: { value: "ID", multiple: true, help: "website of that account" },
  currency: { value: "CODE", help: "currency of those websites (default EUR)" },
  category: { value: "ID[=LABEL]", multiple: true, help: "category of those websites" },
  fault: { value: "KIND[:NAME=VALUE,...]", multiple: true, help: "misbehave, see below" },
  "auto-pay": { help: "pay every order as soon as it is generated" },
  "tls-key": { value: "FILE", help: "private key in PEM: serve https" },
  "tls-cert": { value: "FILE", help: "certificate chain in PEM: serve https" },
  "tls-self-signed": {
    value: "FILE",
    help: "serve https with a certificate made now, written to FILE for clients to trust",
  },
  "ready-file": { value: "FILE", help: 'write {"url": ...} there once requests are taken' },
  help: { help: "print this and stop" },
} as const satisfies Readonly<Record<string, Switch>>;

type SwitchName = keyof typeof switches;

/** A command line that cannot be obeyed; the words say what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export type CommandLine =
  | { readonly help: true }
  | { readonly help: false; readonly options: SandboxOptions; readonly readyFile?: string };

/** Reads the command line and the files it names. Throws {@link UsageError}. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const given = parse(args);
  if (given.on("help")) return { help: true };
  const database = given.one("database");
  if (database === undefined) {
    throw new UsageError("--database is missing: name a file, or :memory: to keep nothing");
  }
  const readyFile = given.one("ready-file");
  const tls = tlsOf(given);
  return {
    help: false,
    options: {
      host: given.one("host") ?? "127.0.0.1",
      port: wholeNumber("port", given.one("port") ?? "8080", 0, 65_535),
      database,
      accounts: accountsOf(given),
      autoPay: given.on("auto-pay"),
      faults: given.all("fault").map(faultOf),
      ...(tls && { tls }),
    },
    ...(readyFile !== undefined && { readyFile }),
  };
}

class Given {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  on(name: SwitchName): boolean {
    return this.#values[name] === true;
  }

  all(name: SwitchName): string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  one(name: SwitchName): string | undefined {
    const values = this.all(name);
    if (values.length > 1) throw new UsageError(`--${name} is given ${values.length} times`);
    return values[0];
  }
}

function parse(args: readonly string[]): Given {
  const rows = Object.entries(switches as Readonly<Record<string, Switch>>);
  const options = Object.fromEntries(
    rows.map(([name, { value }]) =>
      value === undefined
        ? ([name, { type: "boolean" }] as const)
        : ([name, { type: "string", multiple: true }] as const),
    ),
  );
  try {
    return new Given(parseArgs({ args: [...args], options, strict: true }).values);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(name: SwitchName, text: string, min: number, max: number): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, not "${text}"`);
}

function accountsOf(given: Given): AccountInput[] {
  const accounts = given.all("account").flatMap(accountFile);
  const login = given.one("login");
  const password = given.one("password");
  const websites = given.all("website");
  const parts = [login !== undefined, password !== undefined, websites.length > 0];
  if (parts.some(Boolean) && !parts.every(Boolean)) {
    throw new UsageError("--login, --password and --website belong together: give all three");
  }
  if (login !== undefined && password !== undefined) {
    accounts.push(accountOnCommandLine(given, login, password, websites));
  }
  if (accounts.length === 0) {
    throw new UsageError("no account: give --login, --password and --website, or --account FILE");
  }
  const logins = accounts.map((account) => account.login);
  const twice = logins.find((name, i) => logins.indexOf(name) !== i);
  if (twice !== undefined) throw new UsageError(`login ${twice} is given twice: name it once`);
  return accounts;
}

function accountOnCommandLine(
  given: Given,
  login: string,
  password: string,
  websites: readonly string[],
): AccountInput {
  const categories = given.all("category").map(categoryOf);
  const account = {
    login,
    password,
    websites: websites.map((id) => ({
      id: wholeNumber("website", id, 1, 99_999_999_999),
      currency: given.one("currency") ?? "EUR",
      ...(categories.length > 0 && { categories }),
    })),
  };
  return checked("--login, --password, --website, --currency", account)[0] ?? account;
}

function categoryOf(text: string): Category {
  const [id = "", label = `Category ${id}`] = text.split("=", 2);
  return { id: wholeNumber("category", id, 1, 99_999_999_999), label };
}

function accountFile(path: string): AccountInput[] {
  let content: unknown;
  try {
    content = JSON.parse(readText("account", path));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageError(`--account ${path} is not JSON: ${error.message}`);
  }
  return checked(`--account ${path}`, content);
}

function checked(where: string, content: unknown): AccountInput[] {
  const result = accountFileSchema.safeParse(content);
  if (!result.success) throw new UsageError(`${where}: ${describeIssues(result.error)}`);
  return result.data;
}

function faultOf(text: string): FaultInput {
  try {
    return parseFault(text);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw new UsageError(`--fault ${text}: ${describeIssues(error)}`);
  }
}

function tlsOf(given: Given): SandboxOptions["tls"] {
  const key = given.one("tls-key");
  const cert = given.one("tls-cert");
  const made = given.one("tls-self-signed");
  if (made !== undefined) {
    if (key !== undefined || cert !== undefined) {
      throw new UsageError("--tls-self-signed makes its own key and certificate: give no other");
    }
    return certificateMade(made, given.one("host"));
  }
  if (key === undefined && cert === undefined) return undefined;
  if (key === undefined || cert === undefined) {
    throw new UsageError("--tls-key and --tls-cert belong together: give both");
  }
  return { key: readText("tls-key", key), cert: readText("tls-cert", cert) };
}

function certificateMade(file: string, host: string | undefined): Tls {
  const names = new Set(["localhost", "127.0.0.1", "::1", ...(host === undefined ? [] : [host])]);
  const tls = selfSignedTls([...names], systemClock.now());
  try {
    writeFileSync(file, tls.cert);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--tls-self-signed cannot be written: ${why}`);
  }
  return tls;
}

function readText(name: SwitchName, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--${name} cannot be read: ${why}`);
  }
}

const HELP_COLUMN = 34;

export function helpText(): string {
  const line = (left: string, right: string): string =>
    `  ${left.padEnd(HELP_COLUMN)}${left.length >= HELP_COLUMN ? " " : ""}${right}`;
  const rows = Object.entries(switches as Readonly<Record<string, Switch>>);
  return [
    "Gateway sandbox: a local stand-in for the SOAP payment gateway.",
    "",
    "node src/simulator/gateway/main.ts --database FILE --login L --password P --website ID",
    "",
    ...rows.map(([name, { value, multiple, help }]) =>
      line(value ? `--${name} ${value}` : `--${name}`, multiple ? `${help}; repeatable` : help),
    ),
    "",
    "Faults (also at run time: POST /sandbox/faults with JSON, DELETE to clear):",
    ...Object.entries(faultKinds).map(([kind, help]) => line(kind, help)),
    "",
    "Settings of a fault: times=N, operation=NAME, delayMs=N, retryAfter=N, code=N, commit=true,",
    "for example --fault latency:delayMs=500 --fault unavailable-503:retryAfter=5,times=2",
    "",
  ].join("\n");
}
