import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { PORT_MAX } from "../../shared/config/config-field.ts";
import { systemClock } from "../../shared/time.ts";
import {
  type Asked,
  helpLines,
  readSwitches,
  type SwitchTable,
  switchLines,
  ValueError,
  whole,
} from "../switch-table.ts";
import { type AccountInput, accountFileSchema, type Category } from "./account.ts";
import { type FaultInput, faultKinds, parseFault } from "./faults/fault.ts";
import type { Tls } from "./http/app.ts";
import { describeIssues } from "./http/request.ts";
import { selfSignedTls } from "./http/self-signed.ts";
import { type MailTarget, parseMailTarget } from "./mail/mail-target.ts";
import type { SandboxOptions } from "./sandbox.ts";

/** The options as far as the switches have set them. */
interface Draft {
  host?: string;
  port: number;
  database?: string;
  readonly accounts: AccountInput[];
  login?: string;
  password?: string;
  readonly websites: number[];
  currency?: string;
  salt?: string;
  readonly categories: Category[];
  readonly faults: FaultInput[];
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
  host: {
    argument: "ADDRESS",
    description: "address to listen on (default 127.0.0.1)",
    apply: (value, draft) => {
      draft.host = value;
    },
  },
  port: {
    argument: "NUMBER",
    description: "port to listen on, 0 for any free one (default 8080)",
    apply: (value, draft) => {
      draft.port = whole(value, 0, PORT_MAX);
    },
  },
  database: {
    argument: "FILE",
    description: "SQLite file for orders; :memory: keeps nothing",
    apply: (value, draft) => {
      draft.database = value;
    },
  },
  account: {
    argument: "FILE",
    multiple: true,
    description: "JSON file of one merchant or a list of them, see README.md",
    apply: (value, draft) => {
      draft.accounts.push(...accountFile(value));
    },
  },
  login: {
    argument: "TEXT",
    description: "wsLogin of an account without a file",
    apply: (value, draft) => {
      draft.login = value;
    },
  },
  password: {
    argument: "TEXT",
    description: "wsPassword of that account",
    apply: (value, draft) => {
      draft.password = value;
    },
  },
  website: {
    argument: "ID",
    multiple: true,
    description: "website of that account",
    apply: (value, draft) => {
      draft.websites.push(whole(value, 1, ID_MAX));
    },
  },
  currency: {
    argument: "CODE",
    description: "currency of those websites (default EUR)",
    apply: (value, draft) => {
      draft.currency = value;
    },
  },
  salt: {
    argument: "TEXT",
    description: "signs notifications of those websites in place of the password",
    apply: (value, draft) => {
      draft.salt = value;
    },
  },
  category: {
    argument: "ID[=LABEL]",
    multiple: true,
    description: "category of those websites",
    apply: (value, draft) => {
      const [id = "", label = `Category ${id}`] = value.split("=", 2);
      draft.categories.push({ id: whole(id, 1, ID_MAX), label });
    },
  },
  fault: {
    argument: "KIND[:NAME=VALUE,...]",
    multiple: true,
    description: "misbehave, see below",
    apply: (value, draft) => {
      draft.faults.push(faultOf(value));
    },
  },
  "auto-pay": {
    description: "pay every order as soon as it is generated",
    apply: (_, draft) => {
      draft.autoPay = true;
    },
  },
  "payments-wait": {
    description: "payments wait until an operator pays or declines them",
    apply: (_, draft) => {
      draft.paymentsWait = true;
    },
  },
  "website-id-mandatory": {
    description: "refuse refunds without websiteId, as documented; real types do not have it",
    apply: (_, draft) => {
      draft.websiteIdMandatory = true;
    },
  },
  mail: {
    argument: "FILE|smtp://HOST:PORT",
    description:
      "where mails to emailCallback go: appended to a file, or to a mail server on this machine " +
      "(default: database file with .mbox; none with :memory:)",
    apply: (value, draft) => {
      draft.mail = parseMailTarget(value);
    },
  },
  "tls-key": {
    argument: "FILE",
    description: "private key in PEM: serve https",
    apply: (value, draft) => {
      draft.tlsKey = readText(value);
    },
  },
  "tls-cert": {
    argument: "FILE",
    description: "certificate chain in PEM: serve https",
    apply: (value, draft) => {
      draft.tlsCert = readText(value);
    },
  },
  "tls-self-signed": {
    argument: "FILE",
    description: "serve https with a certificate made now, written to FILE for clients to trust",
    apply: (value, draft) => {
      draft.tlsSelfSigned = value;
    },
  },
  "ready-file": {
    argument: "FILE",
    description: 'write {"url": ...} there once requests are taken',
    apply: (value, draft) => {
      draft.readyFile = value;
    },
  },
};

/** Reads the command line and the files it names. Never throws for what somebody has typed. */
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
      ...(categories.length > 0 && { categories }),
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
