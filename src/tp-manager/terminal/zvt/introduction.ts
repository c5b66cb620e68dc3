/**
 * The steps between an open link and a terminal that can be used: registration, status, identity
 * (docs/zvt.md 6.1, 6.5; docs/rules/01-baseline.md).
 */

import {
  type Charset,
  charsetOfCode,
  type Message,
  type Totals,
  tagValue,
} from "../../../zvt/index.ts";
import {
  type Demand,
  demandsOfRegistration,
  demandsOfStatus,
} from "../../../zvt/tables/demands.ts";
import { codeText, refusalText } from "../../../zvt/tables/result-codes.ts";
import {
  type LastTransaction,
  type TerminalIdentity,
  type TerminalStatus,
  TerminalUnavailable,
} from "../terminal.ts";
import type { Command } from "./commands/command.ts";
import { bareRegistration, registration } from "./commands/registration.ts";
import { repeatReceipt } from "./commands/repeat-receipt.ts";
import { type StatusForm, statusEnquiry } from "./commands/status-enquiry.ts";
import { turnoverTotals } from "./commands/upkeep.ts";
import { clockOffsetMs } from "./report/local-date.ts";
import { transactionReport } from "./report/transaction-report.ts";
import type { ExchangeListener } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import { statusOfRefusal, terminalStatus } from "./terminal-statuses.ts";
import type { ZvtOptions } from "./zvt-options.ts";

/** Runs one command on the wire to its end. */
export type RunCommand = (command: Command, listener?: ExchangeListener) => Promise<ExchangeEnd>;

export interface StatusAnswer {
  readonly status: TerminalStatus;
  readonly identity: TerminalIdentity;
  readonly clockOffsetMs: number | null;
  /** The terminal wants to be registered first (docs/zvt.md 9.2 step 3). */
  readonly notRegistered: boolean;
  readonly demands: readonly Demand[];
  /**
   * Refused at once, and not for a missing registration: a terminal that is still in a payment may
   * answer so (docs/zvt.md 9.2 step 2), whatever the code.
   */
  readonly refused: boolean;
  /** The form of the question that was answered with a status; null when none was. */
  readonly form: StatusForm | null;
}

export interface Registered {
  readonly terminalId: string;
  /** The set that the terminal agreed to (docs/zvt.md 6.1); null when it named none. */
  readonly charset: Charset | null;
  /** The status byte (docs/zvt.md 6.1); 0 when the terminal sends none. */
  readonly statusByte: number;
  readonly demands: readonly Demand[];
}

/** 84 6B: the terminal wants to be registered first. */
export const NOT_REGISTERED = 0x6b;
/** Message wrong, function or tag unknown (docs/zvt.md 11.4). */
const PROTESTS = [0x9a, 0x83];

/**
 * Asks in the given form; undefined: in the one that the terminal understands. Throws
 * {@link TerminalUnavailable} when the terminal gives no answer.
 */
export async function askStatus(
  run: RunCommand,
  options: ZvtOptions,
  nowMs: () => number,
  known: StatusForm | undefined,
): Promise<StatusAnswer> {
  const form = known ?? "container";
  const end = await run(statusEnquiry(options.password, form));
  if (known === undefined && isProtest(end)) {
    // A terminal that does not know the form still knows the question (docs/zvt.md 6.5).
    return await askStatus(run, options, nowMs, "plain");
  }
  if (end.end === "completed") {
    const { tags } = end.message;
    return {
      status: terminalStatus(end.message),
      identity: identityOf(end.message),
      clockOffsetMs: clockOffsetMs(
        tagValue(tags, "terminalClock", "date"),
        tagValue(tags, "terminalClock", "time"),
        nowMs(),
      ),
      notRegistered: false,
      demands: demandsOfStatus(end.message),
      refused: false,
      form,
    };
  }
  const { code, text } = refusalOf(end, options);
  return {
    status: { ...statusOfRefusal(code), detail: `status enquiry refused: ${text}` },
    identity: nobody,
    clockOffsetMs: null,
    notRegistered: code === NOT_REGISTERED,
    demands: [],
    refused: end.end === "refused" && code !== NOT_REGISTERED,
    form: null,
  };
}

export async function register(run: RunCommand, options: ZvtOptions): Promise<Registered> {
  // Unknown tags are to be skipped (docs/zvt.md 4.3); a terminal that does not skip them, or knows
  // no container or currency here, gets a registration without.
  const forms = [
    registration(options),
    ...(options.messageIds ? [registration({ ...options, messageIds: false })] : []),
    bareRegistration(options, "currency"),
    bareRegistration(options, "nothing"),
  ] as const;
  let end = await run(forms[0]);
  for (const form of forms.slice(1)) {
    if (!isProtest(end)) break;
    end = await run(form);
  }
  if (end.end !== "completed") {
    const { text } = refusalOf(end, options);
    throw new TerminalUnavailable(
      "not-registered",
      `the terminal refused the registration: ${text}; check password, configuration byte ` +
        "and currency",
    );
  }
  const { fields, tags } = end.message;
  const code = tagValue(tags, "charsets", "charset");
  const statusByte = fields.typeByte ?? 0;
  return {
    terminalId: fields.terminalId ?? "",
    charset: (code === undefined ? undefined : charsetOfCode(code)) ?? null,
    statusByte,
    demands: demandsOfRegistration(statusByte, tags),
  };
}

function isProtest(end: ExchangeEnd): boolean {
  const refused = end.end === "refused" || end.end === "aborted";
  return refused && PROTESTS.includes(codeOf(end.message));
}

/** Repeat Receipt in its recovery form, docs/zvt.md 9.2 steps 4 and 5. */
export async function askLastTransaction(
  run: RunCommand,
  options: ZvtOptions,
  nowMs: () => number,
): Promise<LastTransaction & { readonly notRegistered?: boolean }> {
  const told: Message[] = [];
  const end = await run(repeatReceipt(options.password), {
    message: (message) => {
      const isSale = message.name === "status-information" && !message.fields.totals;
      if (isSale) told.push(message);
    },
  });
  const found = told.at(-1);
  if (saysNothingStored(end, found)) return await askTotals(run, options);
  if (end.end !== "completed") {
    const { code, text } = refusalOf(end, options);
    const why = `the terminal refused to repeat its last receipt: ${text}`;
    return { kind: "not-told", why, refused: true, notRegistered: code === NOT_REGISTERED };
  }
  if (!found) {
    return { kind: "not-told", why: "the terminal repeated its last receipt without any data" };
  }
  const how = { language: options.language, nowMs: nowMs() };
  const also = told.slice(0, -1).map((one) => transactionReport(one, how));
  const report = transactionReport(found, how);
  return { kind: "transaction", report, ...(also.length > 0 ? { also } : {}) };
}

/** A result code in the answer to Repeat Receipt of a terminal that has nothing to repeat. */
const NOTHING_TO_REPEAT = [0x83, 0x64];

/** Nothing to repeat, or a terminal that cannot: a result without a sale, or none and 06 1E. */
function saysNothingStored(end: ExchangeEnd, found: Message | undefined): boolean {
  if (!found) return end.end === "aborted" && NOTHING_TO_REPEAT.includes(codeOf(end.message));
  const { amount, receiptNumber, resultCode } = found.fields;
  const isSale = amount !== undefined || receiptNumber !== undefined;
  return !isSale && resultCode !== undefined && NOTHING_TO_REPEAT.includes(resultCode);
}

/**
 * Whether a terminal that repeats nothing has nothing stored (docs/zvt.md 9.2): its totals name not
 * one transaction. A terminal that tells its last transaction is never asked this.
 */
async function askTotals(run: RunCommand, options: ZvtOptions): Promise<LastTransaction> {
  let told: Totals | undefined;
  const end = await run(turnoverTotals(options.password), {
    message: ({ name, fields }) => {
      if (name === "status-information") told = fields.totals ?? told;
    },
  });
  if (end.end !== "completed") refusalOf(end, options); // throws when nothing was answered at all
  const isEmpty = told?.groups.every(({ count, amount }) => count === 0 && amount === 0);
  if (end.end === "completed" && isEmpty) return { kind: "none" };
  return { kind: "not-told", why: "the terminal repeats no receipt, and its totals are not empty" };
}

/** Code and words of a refusal. Throws when there was no answer at all. */
function refusalOf(
  end: Exclude<ExchangeEnd, { end: "completed" }>,
  { language }: ZvtOptions,
): { code: number; text: string } {
  if (end.end === "lost" || end.end === "not-sent") {
    throw new TerminalUnavailable("no-answer", `the terminal does not answer: ${end.problem}`);
  }
  const code = codeOf(end.message);
  return { code, text: `${codeText(code)} ${refusalText(code, language)}` };
}

/** The code of 84 xx or 06 1E; the one inside 84 1E. Without any, FF: other error. */
export function codeOf({ parts, control }: Message): number {
  if (parts.resultCode !== undefined) return parts.resultCode;
  return control >> 8 === 0x84 ? control & 0xff : 0xff;
}

export const nobody: TerminalIdentity = {
  serialNumber: "",
  deviceId: "",
  terminalId: "",
  version: "",
};

function identityOf({ parts, tags }: Message): TerminalIdentity {
  return {
    serialNumber: tagValue(tags, "device", "deviceSerial") ?? "",
    deviceId: tagValue(tags, "device", "deviceName")?.trim() ?? "",
    terminalId: tagValue(tags, "terminalId") ?? "",
    version: (tagValue(tags, "device", "deviceVersion") ?? parts.softwareVersion ?? "").trim(),
  };
}

/** Facts that are told replace known ones; a fact that is not told erases none. */
export function mergedIdentity(
  known: TerminalIdentity,
  told: Partial<TerminalIdentity>,
): TerminalIdentity {
  const members = Object.entries(told).filter(([, value]) => value !== "");
  return { ...known, ...Object.fromEntries(members) };
}
