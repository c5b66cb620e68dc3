import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { PORT_MAX } from "../../shared/config/config-field.ts";
import { systemClock } from "../../shared/time.ts";
import {
  type Asked,
  flag,
  helpLines,
  list,
  option,
  readSwitches,
  type SwitchTable,
  switchLines,
  ValueError,
  whole,
} from "../switch-table.ts";
import { type AccountInput, accountFileSchema, type Category } from "./account.ts";
import { type FaultInput, faultKinds, parseFault } from "./faults.ts";
import { describeIssues, type Tls } from "./http/app.ts";
import { selfSignedTls } from "./http/self-signed.ts";
import { type MailTarget, parseMailTarget } from "./notifications/mail.ts";
import type { SandboxOptions } from "./parts.ts";

/** The options as far as the switches have set them. */
interface Draft {
  host?: string;
  port: number;
  database?: string;
  accounts: readonly AccountInput[];
  login?: string;
  password?: string;
  websites: readonly number[];
  currency?: string;
  salt?: string;
  categories: readonly Category[];
  faults: readonly FaultInput[];
  autoPay: boolean;
  paymentsWait: boolean;
  websiteIdMandatory: boolean;
  mail?: MailTarget;
  tlsKey?: string;
  tlsCert?: string;
  tlsSelfSigned?: string;
  readyFile?: string;
}

const ID_MAX = 99_999_999_999;

/** Every switch of the sandbox, in the order of `--help`. */
export const switches: SwitchTable<Draft> = {
  host: option("ADDRESS", "address to listen on (default 127.0.0.1)", (host) => ({ host })),
  port: option("NUMBER", "port to listen on, 0 for any free one (default 8080)", (value) => ({
    port: whole(value, 0, PORT_MAX),
  })),
  database: option("FILE", "SQLite file for orders; :memory: keeps nothing", (database) => ({
    database,
  })),
  account: list(
    "FILE",
    "JSON file of one merchant or a list of them, see README.md",
    (value, { accounts }) => ({ accounts: [...accounts, ...accountFile(value)] }),
  ),
  login: option("TEXT", "wsLogin of an account without a file", (login) => ({ login })),
  password: option("TEXT", "wsPassword of that account", (password) => ({ password })),
  website: list("ID", "website of that account", (value, { websites }) => ({
    websites: [...websites, whole(value, 1, ID_MAX)],
  })),
  currency: option("CODE", "currency of those websites (default EUR)", (currency) => ({
    currency,
  })),
  salt: option(
    "TEXT",
    "signs notifications of those websites in place of the password",
    (salt) => ({ salt }),
  ),
  category: list("ID[=LABEL]", "category of those websites", (value, { categories }) => {
    const [id = "", label = `Category ${id}`] = value.split("=", 2);
    return { categories: [...categories, { id: whole(id, 1, ID_MAX), label }] };
  }),
  fault: list("KIND[:NAME=VALUE,...]", "misbehave, see below", (value, { faults }) => ({
    faults: [...faults, faultOf(value)],
  })),
  "auto-pay": flag("pay every order as soon as it is generated", () => ({ autoPay: true })),
  "payments-wait": flag("payments wait until an operator pays or declines them", () => ({
    paymentsWait: true,
  })),
  "website-id-mandatory": flag(
    "refuse refunds without websiteId, as documented; real types do not have it",
    () => ({ websiteIdMandatory: true }),
  ),
  mail: option(
    "FILE|smtp://HOST:PORT",
    "where mails to emailCallback go: appended to a file, or to a mail server on this machine " +
      "(default: database file with .mbox; none with :memory:)",
    (value) => ({ mail: parseMailTarget(value) }),
  ),
  "tls-key": option("FILE", "private key in PEM: serve https", (value) => ({
    tlsKey: readText(value),
  })),
  "tls-cert": option("FILE", "certificate chain in PEM: serve https", (value) => ({
    tlsCert: readText(value),
  })),
  "tls-self-signed": option(
    "FILE",
    "serve https with a certificate made now, written to FILE for clients to trust",
    (tlsSelfSigned) => ({ tlsSelfSigned }),
  ),
  "ready-file": option("FILE", 'write {"url": ...} there once requests are taken', (readyFile) => ({
    readyFile,
  })),
};

/** Reads the command line and the files it names. Never throws for a mistyped command line. */
export function readCommandLine(argv: readonly string[]): Asked<SandboxOptions> {
  const lists = { accounts: [], websites: [], categories: [], faults: [] };
  const off = { autoPay: false, paymentsWait: false, websiteIdMandatory: false };
  const draft: Draft = { ...lists, port: 8_080, ...off };
  return readSwitches({ switches, draft, options: sandboxOptions, help: helpText }, argv);
}

function sandboxOptions(draft: Draft): SandboxOptions {
  const { database, host = "127.0.0.1", port, faults } = draft;
  const { autoPay, paymentsWait, websiteIdMandatory, mail } = draft;
  if (database === undefined) {
    throw new ValueError("--database is missing: name a file, or :memory: to keep nothing");
  }
  const tls = tlsOf(draft);
  const accounts = accountsOf(draft);
  const behaviour = { autoPay, paymentsWait, websiteIdMandatory, faults, ...(mail && { mail }) };
  return { host, port, database, accounts, ...behaviour, ...(tls && { tls }) };
}

function accountsOf({ accounts: given, login, password, ...draft }: Draft): AccountInput[] {
  const accounts = [...given];
  const parts = [login !== undefined, password !== undefined, draft.websites.length > 0];
  if (parts.some(Boolean) && !parts.every(Boolean)) {
    throw new ValueError("--login, --password and --website belong together: give all three");
  }
  if (login !== undefined && password !== undefined) {
    accounts.push(accountOnCommandLine(draft, login, password));
  }
  if (accounts.length === 0) {
    throw new ValueError("no account: give --login, --password and --website, or --account FILE");
  }
  const logins = accounts.map((account) => account.login);
  const twice = logins.find((name, i) => logins.indexOf(name) !== i);
  if (twice !== undefined) throw new ValueError(`login ${twice} is given twice: name it once`);
  return accounts;
}

function accountOnCommandLine(
  { categories, currency = "EUR", salt, websites }: Omit<Draft, "accounts" | "login" | "password">,
  login: string,
  password: string,
): AccountInput {
  const account = {
    login,
    password,
    websites: websites.map((id) => ({
      id,
      currency,
      ...(categories.length > 0 && { categories: [...categories] }),
      ...(salt !== undefined && { salt }),
    })),
  };
  return checked("--login, --password, --website, --currency: ", account)[0] ?? account;
}

function accountFile(path: string): AccountInput[] {
  let content: unknown;
  try {
    content = JSON.parse(readText(path));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ValueError(`it is not JSON: ${error.message}`);
  }
  return checked("", content);
}

function checked(where: string, content: unknown): AccountInput[] {
  const result = accountFileSchema.safeParse(content);
  if (!result.success) throw new ValueError(`${where}${describeIssues(result.error)}`);
  return result.data;
}

function faultOf(text: string): FaultInput {
  try {
    return parseFault(text);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw new ValueError(describeIssues(error));
  }
}

function tlsOf({ tlsKey: key, tlsCert: cert, tlsSelfSigned: made, host }: Draft): Tls | undefined {
  if (made !== undefined) {
    if (key !== undefined || cert !== undefined) {
      throw new ValueError("--tls-self-signed makes its own key and certificate: give no other");
    }
    return certificateMade(made, host);
  }
  if (key === undefined && cert === undefined) return undefined;
  if (key === undefined || cert === undefined) {
    throw new ValueError("--tls-key and --tls-cert belong together: give both");
  }
  return { key, cert };
}

function certificateMade(file: string, host: string | undefined): Tls {
  const names = new Set(["localhost", "127.0.0.1", "::1", ...(host === undefined ? [] : [host])]);
  const tls = selfSignedTls([...names], systemClock.now());
  try {
    writeFileSync(file, tls.cert);
  } catch (error) {
    throw new ValueError(`--tls-self-signed cannot be written: ${(error as Error).message}`);
  }
  return tls;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ValueError(`it cannot be read: ${(error as Error).message}`);
  }
}

export function helpText(): string {
  return [
    "Gateway sandbox: a local stand-in for the SOAP payment gateway.",
    "",
    "node src/simulator/gateway/main.ts --database FILE --login L --password P --website ID",
    "",
    ...switchLines(switches),
    "",
    "Faults (also at run time: POST /sandbox/faults with JSON, DELETE to clear):",
    ...Object.entries(faultKinds).flatMap(([kind, text]) => helpLines(kind, text)),
    "",
    "Settings of a fault: times=N, operation=NAME, merchantReference=ORDER, delayMs=N,",
    "retryAfter=N, code=N, status=N, for example --fault latency:delayMs=500",
    "--fault unavailable-503:retryAfter=5,times=2",
    "",
  ].join("\n");
}
