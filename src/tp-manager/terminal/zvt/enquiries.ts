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
  distinct,
} from "../../../zvt/tables/demands.ts";
import { codeOf, NOT_REGISTERED, refusal } from "../../../zvt/tables/result-codes.ts";
import {
  type Baseline,
  type LastTransaction,
  noIdentity,
  type TerminalIdentity,
  type TerminalStatus,
  TerminalUnavailable,
} from "../terminal.ts";
import {
  bareRegistration,
  type Command,
  registration,
  repeatReceipt,
  type StatusForm,
  statusEnquiry,
  turnoverTotals,
} from "./commands/commands.ts";
import { Housekeeping } from "./housekeeping.ts";
import { clockOffsetMs, transactionReport } from "./report/transaction-report.ts";
import type { RunCommand } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import { statusOfRefusal, terminalStatus } from "./terminal-statuses.ts";
import type { ZvtContext, ZvtOptions } from "./zvt-options.ts";

export type StatusAnswer = ReturnType<typeof answerOf>;

/** The codes by which a terminal refuses what it does not know (docs/zvt.md 11.4). */
const PROTESTS = [0x9a, 0x83];
/** The codes of an answer to Repeat Receipt when nothing is stored (docs/zvt.md 9.2). */
const NOTHING_TO_REPEAT = [0x83, 0x64];
/** Bit of a registration's status byte: the terminal can wait for the goods (docs/zvt.md 6.1). */
const VENDING_MODE = 0x10;

/**
 * Asks the terminal for registration, status and last transaction (docs/zvt.md 6.1, 6.5;
 * docs/rules/01-baseline.md), and stores the answers. The caller must have the wire for itself.
 */
export class Enquiries {
  readonly #zvt: ZvtContext;
  readonly #housekeeping: Housekeeping;
  /** The character set of the terminal's texts on this link; a new registration may change it. */
  charset: Charset;
  identity: TerminalIdentity = noIdentity;
  status: TerminalStatus | null = null;
  demands: readonly Demand[] = [];
  /** The identity that was reported on this link; the next link may lead to another terminal. */
  #named: TerminalIdentity = noIdentity;
  vending = false;
  /** The demands in the last registration: they hold until the next one. */
  #registeredDemands: readonly Demand[] = [];
  #clockOffsetMs: number | null = null;
  #form: StatusForm | undefined;

  constructor(zvt: ZvtContext) {
    this.#zvt = zvt;
    this.#housekeeping = new Housekeeping(zvt);
    this.charset = zvt.options.charset;
  }

  disconnected(): void {
    this.charset = this.#zvt.options.charset;
    this.status = null;
    this.demands = [];
  }

  /** Asks a terminal on a new link for registration, status, identity and last transaction. */
  async introduce(run: RunCommand): Promise<void> {
    this.#named = noIdentity;
    this.#form = undefined;
    this.#clockOffsetMs = null;
    await this.#register(run);
    this.#learn(await this.peek(run));
    // An older terminal sends its version only if asked without service byte (docs/zvt.md 6.5).
    if (this.#named.version === "") {
      const { identity } = answerOf(await run(this.#enquiry("plain")), this.#zvt);
      this.#identify({ version: identity.version });
    }
    const last = await this.lastTransaction(run);
    if (last.kind === "not-told") {
      const text = "no last transaction reported: a lost payment would stay unknown";
      this.#zvt.log.warn({ why: last.why }, text);
    }
    this.#publishIdentity();
  }

  async askStatus(run: RunCommand): Promise<TerminalStatus> {
    const status = this.#learn(await this.peek(run));
    this.#publishIdentity();
    return status;
  }

  /** Throws {@link TerminalUnavailable} unless the terminal shows that no command runs on it. */
  async assertIdle(run: RunCommand): Promise<void> {
    const answer = await this.peek(run);
    const status = this.#learn(answer);
    this.#publishIdentity();
    if (answer.refused || status.cr === "1") throw new TerminalUnavailable("busy", status.detail);
  }

  /** Asks for the last transaction; registers first if needed (docs/zvt.md 9.2 steps 3 to 5). */
  async lastTransaction(run: RunCommand): Promise<LastTransaction> {
    const last = await this.#repeatReceipt(run);
    if (last !== "not-registered") return last;
    await this.#register(run);
    const again = await this.#repeatReceipt(run);
    return again === "not-registered" ? this.#refusedToRepeat(NOT_REGISTERED) : again;
  }

  /**
   * Returns the baseline of a payment. The last transaction is read anew each time, because a sale
   * at the terminal's own keys may have replaced it: recovery would take that sale for ours
   * (docs/rules/01-baseline.md).
   */
  async baseline(run: RunCommand): Promise<Baseline> {
    const last = await this.lastTransaction(run);
    return { identity: this.identity, last, clockOffsetMs: this.#clockOffsetMs };
  }

  get pollIntervalMs(): number {
    const { pollIntervalMs, busyPollIntervalMs } = this.#zvt.options;
    const attentive = this.status?.cr === "1" || this.demands.length > 0;
    return attentive ? Math.min(busyPollIntervalMs, pollIntervalMs) : pollIntervalMs;
  }

  /**
   * Asks for the status, and carries out one maintenance demand if the terminal is idle.
   * `mayKeepHouse` returns whether maintenance disturbs no payment and no probe.
   */
  async poll(run: RunCommand, mayKeepHouse: () => boolean): Promise<void> {
    const { cr } = await this.askStatus(run);
    const demand = this.#housekeeping.due(this.demands);
    if (demand === undefined || cr === "1" || !mayKeepHouse()) return;
    await this.#housekeeping.meet(demand, run);
    await this.relearn(run);
  }

  /** Registers again: only a registration shows whether demands are met (docs/zvt.md 6.1). */
  async relearn(run: RunCommand): Promise<void> {
    await this.#register(run);
    await this.askStatus(run);
  }

  get statusEnquiry(): Command {
    return this.#enquiry(this.#form ?? "container");
  }

  async #register(run: RunCommand): Promise<void> {
    const { fields, tags } = await register(run, this.#zvt.options);
    const code = tagValue(tags, "charsets", "charset");
    const agreed = code === undefined ? undefined : charsetOfCode(code);
    if (agreed) this.charset = agreed;
    const statusByte = fields.typeByte ?? 0;
    this.vending = (statusByte & VENDING_MODE) !== 0;
    this.#registeredDemands = demandsOfRegistration(statusByte, tags);
    this.#identify({ terminalId: fields.terminalId ?? "" });
  }

  #enquiry(form: StatusForm): Command {
    return statusEnquiry(this.#zvt.options.password, form);
  }

  /**
   * Asks for the status in the form that this terminal understands; on a new link, finds out which.
   * Stores no status (docs/zvt.md 9.2 step 2). Throws {@link TerminalUnavailable} if unanswered.
   */
  async peek(run: RunCommand): Promise<StatusAnswer> {
    let form = this.#form ?? "container";
    let end = await run(this.#enquiry(form));
    // A terminal that refuses the container form still knows the plain form (docs/zvt.md 6.5).
    if (this.#form === undefined && isProtest(end)) {
      form = "plain";
      end = await run(this.#enquiry(form));
    }
    // A busy terminal refuses every form, so only a status shows that it understands one.
    if (end.end === "completed") this.#form = form;
    return answerOf(end, this.#zvt);
  }

  /** Asks for the result of the last transaction again (docs/zvt.md 9.2 steps 4 and 5). */
  async #repeatReceipt(run: RunCommand): Promise<LastTransaction | "not-registered"> {
    const sales: Message[] = [];
    const end = await run(repeatReceipt(this.#zvt.options.password), {
      message: (message) => {
        const isSale = message.name === "status-information" && !message.fields.totals;
        if (isSale) sales.push(message);
      },
    });
    const sale = sales.at(-1);
    if (showsNothingStored(end, sale)) return await this.#askTotals(run);
    if (end.end !== "completed") {
      const { code } = refusalOf(end, this.#zvt.options);
      return code === NOT_REGISTERED ? "not-registered" : this.#refusedToRepeat(code);
    }
    if (!sale) {
      return { kind: "not-told", why: "the terminal repeated its last receipt without any data" };
    }
    const also = sales.slice(0, -1).map((one) => transactionReport(one, this.#zvt));
    const report = transactionReport(sale, this.#zvt);
    return { kind: "transaction", report, ...(also.length > 0 ? { also } : {}) };
  }

  #refusedToRepeat(code: number): LastTransaction {
    const text = refusal(code, this.#zvt.options.language);
    const why = `the terminal refused to repeat its last receipt: ${text}`;
    return { kind: "not-told", why, refused: true };
  }

  /** Reads totals of a terminal that repeats no receipt; zero: empty storage (docs/zvt.md 9.2). */
  async #askTotals(run: RunCommand): Promise<LastTransaction> {
    let totals: Totals | undefined;
    const end = await run(turnoverTotals(this.#zvt.options.password), {
      message: ({ name, fields }) => {
        if (name === "status-information") totals = fields.totals ?? totals;
      },
    });
    // Throws when the terminal gave no answer.
    if (end.end !== "completed") refusalOf(end, this.#zvt.options);
    const isEmpty = totals?.groups.every(({ count, amount }) => count === 0 && amount === 0);
    if (end.end === "completed" && isEmpty) return { kind: "none" };
    const why = "the terminal repeats no receipt, and its totals are not empty";
    return { kind: "not-told", why };
  }

  /** Stores reported members of the identity; an empty one replaces no known one. */
  #identify(reported: Partial<TerminalIdentity>): void {
    const members = Object.entries(reported).filter(([, value]) => value !== "");
    this.#named = { ...this.#named, ...Object.fromEntries(members) };
  }

  #publishIdentity(): void {
    if (JSON.stringify(this.#named) === JSON.stringify(this.identity)) return;
    this.identity = this.#named;
    this.#zvt.emit({ type: "identity", identity: this.identity });
  }

  /** Stores a status answer and emits the changes. Returns the status with all demands. */
  #learn(answer: StatusAnswer): TerminalStatus {
    if (answer.clockOffsetMs !== null) this.#clockOffsetMs = answer.clockOffsetMs;
    this.#identify(answer.identity);
    const demands = distinct([...this.#registeredDemands, ...answer.demands]);
    const status = demands.length > 0 ? { ...answer.status, call: "1" as const } : answer.status;
    const changed = JSON.stringify(status) !== JSON.stringify(this.status);
    const earlier = this.demands;
    this.status = status;
    this.demands = demands;
    if (changed) this.#zvt.emit({ type: "status", status });
    for (const demand of demands) {
      if (!earlier.includes(demand)) this.#zvt.emit({ type: "demand", demand });
    }
    this.#housekeeping.learn(demands);
    return status;
  }
}

/** Returns the completion of a registration. Throws {@link TerminalUnavailable} without one. */
async function register(run: RunCommand, options: ZvtOptions): Promise<Message> {
  // A terminal has to skip unknown tags (docs/zvt.md 4.3). A terminal that refuses a tag, the
  // container or the currency is registered again without that part.
  let end = await run(registration(options));
  for (const form of [
    ...(options.messageIds ? [registration({ ...options, messageIds: false })] : []),
    bareRegistration(options, "currency"),
    bareRegistration(options, "nothing"),
  ]) {
    if (!isProtest(end)) break;
    end = await run(form);
  }
  if (end.end === "completed") return end.message;
  const { text } = refusalOf(end, options);
  throw new TerminalUnavailable(
    "not-registered",
    `the terminal refused the registration: ${text}; check password, configuration byte ` +
      "and currency",
  );
}

/** Returns what a status enquiry answered. Throws {@link TerminalUnavailable} without an answer. */
function answerOf(end: ExchangeEnd, { options, clock }: ZvtContext) {
  if (end.end !== "completed") {
    const { code, text } = refusalOf(end, options);
    return {
      status: { ...statusOfRefusal(code), detail: `status enquiry refused: ${text}` },
      identity: noIdentity,
      clockOffsetMs: null,
      demands: [],
      /**
       * Whether the enquiry was refused, and not for a missing registration: a terminal that runs a
       * payment may refuse with any code (docs/zvt.md 9.2 step 2).
       */
      refused: end.end === "refused" && code !== NOT_REGISTERED,
    };
  }
  const { message } = end;
  const date = tagValue(message.tags, "terminalClock", "date");
  const time = tagValue(message.tags, "terminalClock", "time");
  return {
    status: terminalStatus(message),
    identity: identityOf(message),
    clockOffsetMs: clockOffsetMs(date, time, clock.now()),
    demands: demandsOfStatus(message),
    refused: false,
  };
}

function isProtest(end: ExchangeEnd): boolean {
  const refused = end.end === "refused" || end.end === "aborted";
  return refused && PROTESTS.includes(codeOf(end.message));
}

/** Returns whether the answer names no sale: an abort, or a result without amount and receipt. */
function showsNothingStored(end: ExchangeEnd, sale: Message | undefined): boolean {
  if (!sale) return end.end === "aborted" && NOTHING_TO_REPEAT.includes(codeOf(end.message));
  const { amount, receiptNumber, resultCode } = sale.fields;
  const isSale = amount !== undefined || receiptNumber !== undefined;
  return !isSale && resultCode !== undefined && NOTHING_TO_REPEAT.includes(resultCode);
}

/** Returns code and text of a refusal. Throws {@link TerminalUnavailable} without an answer. */
function refusalOf(end: Exclude<ExchangeEnd, { end: "completed" }>, { language }: ZvtOptions) {
  if (end.end === "lost" || end.end === "not-sent") {
    throw new TerminalUnavailable("no-answer", `the terminal does not answer: ${end.problem}`);
  }
  const code = codeOf(end.message);
  return { code, text: refusal(code, language) };
}

function identityOf({ parts, tags }: Message): TerminalIdentity {
  return {
    serialNumber: tagValue(tags, "device", "deviceSerial") ?? "",
    deviceId: tagValue(tags, "device", "deviceName")?.trim() ?? "",
    terminalId: tagValue(tags, "terminalId") ?? "",
    version: (tagValue(tags, "device", "deviceVersion") ?? parts.softwareVersion ?? "").trim(),
  };
}
