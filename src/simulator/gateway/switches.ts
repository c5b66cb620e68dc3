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
import { parseMailTarget } from "./notifications/mail.ts";
import type { SandboxOptions } from "./parts.ts";
import texts from "./texts.json" with { type: "json" };

type Draft = {
  -readonly [K in keyof SandboxOptions]?: SandboxOptions[K];
} & {
  accounts: readonly AccountInput[];
  login?: string;
  password?: string;
  websites: readonly number[];
  currency?: string;
  salt?: string;
  categories: readonly Category[];
  faults: readonly FaultInput[];
  tlsKey?: string;
  tlsCert?: string;
  tlsSelfSigned?: string;
  readyFile?: string;
};

const ID_MAX = 99_999_999_999;

export const switches: SwitchTable<Draft> = {
  host: option("ADDRESS", (host) => ({ host })),
  port: option("NUMBER", (value) => ({ port: whole(value, 0, PORT_MAX) })),
  database: option("FILE", (database) => ({ database })),
  account: list("FILE", (value, { accounts }) => ({
    accounts: [...accounts, ...accountFile(value)],
  })),
  login: option("TEXT", (login) => ({ login })),
  password: option("TEXT", (password) => ({ password })),
  website: list("ID", (value, { websites }) => ({
    websites: [...websites, whole(value, 1, ID_MAX)],
  })),
  currency: option("CODE", (currency) => ({ currency })),
  salt: option("TEXT", (salt) => ({ salt })),
  category: list("ID[=LABEL]", (value, { categories }) => {
    const [id = "", label = `Category ${id}`] = value.split("=", 2);
    return { categories: [...categories, { id: whole(id, 1, ID_MAX), label }] };
  }),
  fault: list("KIND[:NAME=VALUE,...]", (value, { faults }) => ({
    faults: [...faults, faultOf(value)],
  })),
  "auto-pay": flag(() => ({ autoPay: true })),
  "payments-wait": flag(() => ({ paymentsWait: true })),
  "website-id-mandatory": flag(() => ({ websiteIdMandatory: true })),
  mail: option("FILE|smtp://HOST:PORT", (value) => ({ mail: parseMailTarget(value) })),
  "tls-key": option("FILE", (value) => ({ tlsKey: readText(value) })),
  "tls-cert": option("FILE", (value) => ({ tlsCert: readText(value) })),
  "tls-self-signed": option("FILE", (tlsSelfSigned) => ({ tlsSelfSigned })),
  "ready-file": option("FILE", (readyFile) => ({ readyFile })),
};

/** Reads a command line and its files. A mistyped command line gives the result `wrong`. */
export function readCommandLine(argv: readonly string[]): Asked<SandboxOptions> {
  const draft: Draft = {
    host: "127.0.0.1",
    port: 8_080,
    accounts: [],
    websites: [],
    categories: [],
    faults: [],
  };
  return readSwitches({ switches, draft, options: sandboxOptions, help: helpText }, argv);
}

function sandboxOptions(draft: Draft): SandboxOptions {
  const { database } = draft;
  if (database === undefined) {
    throw new ValueError("--database is missing: name a file, or :memory: to keep nothing");
  }
  const tls = tlsOf(draft);
  return { ...draft, database, accounts: accountsOf(draft), ...(tls && { tls }) };
}

function accountsOf({ accounts: given, login, password, ...draft }: Draft): AccountInput[] {
  const accounts = [...given];
  const parts = [login !== undefined, password !== undefined, draft.websites.length > 0];
  if (parts.some(Boolean) && !parts.every(Boolean)) {
    throw new ValueError("--login, --password and --website belong together: give all three");
  }
  if (login !== undefined) {
    const { categories: named, currency = "EUR", salt, websites: ids } = draft;
    const categories = named.length > 0 ? named : undefined;
    const websites = ids.map((id) => ({ id, currency, categories, salt }));
    const where = "--login, --password, --website, --currency: ";
    accounts.push(...checked(where, { login, password, websites }));
  }
  if (accounts.length === 0) {
    throw new ValueError("no account: give --login, --password and --website, or --account FILE");
  }
  const logins = accounts.map((account) => account.login);
  const twice = logins.find((name, i) => logins.indexOf(name) !== i);
  if (twice !== undefined) throw new ValueError(`login ${twice} is given twice: name it once`);
  return accounts;
}

function accountFile(path: string): AccountInput[] {
  try {
    return checked("", JSON.parse(readText(path)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ValueError(`it is not JSON: ${error.message}`);
  }
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
  const names = new Set(["localhost", "127.0.0.1", "::1", host ?? "localhost"]);
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

function helpText(): string {
  return [
    ...texts.help.intro,
    ...switchLines(switches, texts.switches),
    "",
    ...texts.help.faults,
    ...Object.entries(faultKinds).flatMap(([kind, text]) => helpLines(kind, text)),
    "",
    ...texts.help.settings,
  ].join("\n");
}
