import type { Charset } from "../../../zvt/index.ts";
import {
  type Baseline,
  type LastTransaction,
  type TerminalEvent,
  type TerminalStatus,
  TerminalUnavailable,
} from "../terminal.ts";
import type { Command } from "./commands/command.ts";
import { type StatusForm, statusEnquiry } from "./commands/status-enquiry.ts";
import { Housekeeping } from "./housekeeping.ts";
import {
  askLastTransaction,
  askStatus,
  type RunCommand,
  register,
  type StatusAnswer,
} from "./introduction.ts";
import { KnownTerminal } from "./known-terminal.ts";
import type { ZvtDependencies, ZvtOptions } from "./zvt-options.ts";

interface EnquiryHooks {
  /** The terminal has been introduced: what it tells from now on is news. */
  connected(): boolean;
  /** The terminal has agreed to write its texts so. */
  charset(charset: Charset): void;
  /** Nobody uses the terminal or is about to, and nothing on it is still to be found out. */
  mayKeepHouse(): boolean;
}

/** The questions to a terminal besides payments, and the facts it has told. Needs the wire. */
export class Enquiries {
  readonly known: KnownTerminal;
  readonly #options: ZvtOptions;
  readonly #deps: ZvtDependencies;
  readonly #hooks: EnquiryHooks;
  readonly #housekeeping: Housekeeping;
  /** The form in which the terminal on this link has answered the status enquiry. */
  #form: StatusForm | undefined;

  constructor(
    options: ZvtOptions,
    dependencies: ZvtDependencies,
    emit: (event: TerminalEvent) => void,
    hooks: EnquiryHooks,
  ) {
    this.#options = options;
    this.#deps = dependencies;
    this.#hooks = hooks;
    this.known = new KnownTerminal(emit);
    this.#housekeeping = new Housekeeping(options, dependencies, emit);
  }

  /** Registration, status, identity and the last transaction of a terminal on a new link. */
  async introduce(run: RunCommand): Promise<void> {
    this.known.introduced();
    this.#form = undefined;
    await this.#register(run);
    this.#learn(await this.#askStatus(run));
    // docs/zvt.md 6.5: an older terminal tells its version only without the service byte.
    if (this.known.version === "") {
      const { identity } = await askStatus(run, this.#options, this.#now, "plain");
      this.known.identify({ version: identity.version });
    }
    const last = await this.lastTransaction(run);
    if (last.kind === "not-told") {
      const { why } = last;
      this.#deps.log.warn({ why }, "no last transaction told: a lost payment would stay unknown");
    }
    this.known.publishIdentity();
  }

  /** docs/zvt.md 9.2 step 2: a command of before may still run on the terminal. */
  async isBusy(run: RunCommand): Promise<boolean> {
    return (await this.#askStatus(run)).status.cr === "1";
  }

  /** Asks for the status and remembers what was told. */
  async status(run: RunCommand): Promise<TerminalStatus> {
    this.#learn(await this.#askStatus(run));
    return this.known.status as TerminalStatus;
  }

  /** Throws {@link TerminalUnavailable} unless the terminal shows that no command runs on it. */
  async assertIdle(run: RunCommand): Promise<void> {
    const answer = await this.#askStatus(run);
    this.#learn(answer);
    const { status, refused } = answer;
    if (refused || status.cr === "1") throw new TerminalUnavailable("busy", status.detail);
  }

  async lastTransaction(run: RunCommand): Promise<LastTransaction> {
    const told = await askLastTransaction(run, this.#options, this.#now);
    // docs/zvt.md 9.2 step 3.
    if (told.kind === "not-told" && told.notRegistered) {
      await this.#register(run);
      return lastOf(await askLastTransaction(run, this.#options, this.#now));
    }
    return lastOf(told);
  }

  /**
   * The terminal as it looks now. Its last transaction is read every time: whatever was read
   * earlier may be outdated without a sign of it on this line (a sale or a reversal at the
   * terminal's own keys, a restart behind a TCP proxy that keeps the connection, a job of the
   * terminal's own), and a recovery would then take a stranger's sale for ours
   * (docs/rules/01-baseline.md).
   */
  async baseline(run: RunCommand): Promise<Baseline> {
    return this.known.baseline(await this.lastTransaction(run));
  }

  /** How long an idle terminal is left alone (docs/zvt.md 6.5, 10.1). */
  get pollIntervalMs(): number {
    const { pollIntervalMs, busyPollIntervalMs } = this.#options;
    const { status, demands } = this.known;
    const attentive = status?.cr === "1" || demands.length > 0;
    return attentive ? Math.min(busyPollIntervalMs, pollIntervalMs) : pollIntervalMs;
  }

  /** Asks for the status; meets one demand when nothing else is going on. */
  async poll(run: RunCommand): Promise<void> {
    const { cr } = await this.status(run);
    const demand = this.#housekeeping.due(this.known.demands);
    if (demand === undefined || cr === "1" || !this.#hooks.mayKeepHouse()) return;
    await this.#housekeeping.meet(demand, run);
    await this.relearn(run);
  }

  /**
   * docs/zvt.md 6.1: only another registration tells whether the demands of the last one are met.
   */
  async relearn(run: RunCommand): Promise<void> {
    await this.#register(run);
    await this.status(run);
  }

  async #register(run: RunCommand): Promise<void> {
    const registered = await register(run, this.#options);
    if (registered.charset) this.#hooks.charset(registered.charset);
    this.known.registered(registered);
  }

  /** The status enquiry that the terminal on this link understands. */
  get statusEnquiry(): Command {
    return statusEnquiry(this.#options.password, this.#form ?? "container");
  }

  async #askStatus(run: RunCommand): Promise<StatusAnswer> {
    const answer = await askStatus(run, this.#options, this.#now, this.#form);
    // Only an answer shows which form is right: a busy terminal refuses any.
    this.#form = answer.form ?? this.#form;
    return answer;
  }

  #learn(answer: StatusAnswer): void {
    this.known.learn(answer);
    this.#housekeeping.learn(this.known.demands);
    if (this.#hooks.connected()) this.known.publishIdentity();
  }

  readonly #now = (): number => this.#deps.clock.now();
}

function lastOf(told: LastTransaction & { readonly notRegistered?: boolean }): LastTransaction {
  if (told.kind !== "not-told") return told;
  const { notRegistered: _, ...last } = told;
  return last;
}
