import { chance, sleep } from "../../../shared/time.ts";
import {
  type Baseline,
  type LastTransaction,
  type TerminalEvent,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
} from "../terminal.ts";
import type { Message } from "./codec/index.ts";
import type { Command } from "./commands/command.ts";
import { Housekeeping } from "./housekeeping.ts";
import {
  askLastTransaction,
  askStatus,
  type RunCommand,
  register,
  type StatusAnswer,
} from "./introduction.ts";
import { KnownTerminal } from "./known-terminal.ts";
import { openSerialLink } from "./link/serial-link.ts";
import { openTcpLink } from "./link/tcp-link.ts";
import { LinkStatus, type WaitLimits } from "./link-status.ts";
import { transactionReport } from "./report/transaction-report.ts";
import { type ExchangeListener, Session, type SessionListener } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import { WireBusy, WireLock } from "./wire-lock.ts";
import type { ZvtDependencies, ZvtOptions } from "./zvt-options.ts";

/**
 * Keeps one terminal connected and registered for ever, polls it while it is idle, and lets one
 * command at a time onto the wire. Knows nothing of payments.
 *
 *   connecting -> registering -> connected -> disconnected -> (back-off) -> connecting ...
 */
export class ZvtConnection {
  readonly #options: ZvtOptions;
  readonly #deps: ZvtDependencies;
  readonly #emit: (event: TerminalEvent) => void;
  readonly #wire: WireLock;
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;
  #session: Session | undefined;
  readonly #link: LinkStatus;
  readonly #known: KnownTerminal;
  readonly #housekeeping: Housekeeping;
  readonly #mayKeepHouse: () => boolean;
  /** A command got no end: the line is given time, the terminal is asked before it is used. */
  #resync = false;
  /** The terminal was told to restart and may still be seen going down. */
  #restarting = false;

  constructor(
    options: ZvtOptions,
    dependencies: ZvtDependencies,
    emit: (event: TerminalEvent) => void,
    mayKeepHouse: () => boolean,
  ) {
    this.#options = options;
    this.#deps = dependencies;
    this.#emit = emit;
    this.#wire = new WireLock(dependencies.clock);
    this.#known = new KnownTerminal(emit);
    this.#housekeeping = new Housekeeping(options, dependencies, emit);
    this.#mayKeepHouse = mayKeepHouse;
    const { clock, transport } = dependencies;
    this.#link = new LinkStatus(clock, transport.address, (link, problem) => {
      if (link === "disconnected") this.#known.disconnected();
      emit({ type: "link", link, problem });
    });
  }

  get state(): Omit<TerminalState, "busy"> & { readonly wireHeld: boolean } {
    const { link, problem } = this.#link;
    const { identity, status, demands } = this.#known;
    const known = { identity, status, demands };
    return { link, linkProblem: problem, ...known, wireHeld: this.#wire.held };
  }

  get vending(): boolean {
    return this.#known.vending;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#link.close();
    await this.#session?.close();
    await this.#loop;
  }

  /** Throws {@link TerminalUnavailable} when the link is not up in time. */
  whenUp(limits: WaitLimits): Promise<void> {
    return this.#link.whenUp(limits);
  }

  /** Runs one command when the wire is free. Throws {@link TerminalUnavailable} otherwise. */
  async exchange(
    command: Command,
    limits: WaitLimits,
    listener?: ExchangeListener,
  ): Promise<ExchangeEnd> {
    return await this.withWire(limits, (run) => run(command, listener));
  }

  /** The same for several commands that belong together. */
  async withWire<T>(limits: WaitLimits, work: (run: RunCommand) => Promise<T>): Promise<T> {
    try {
      return await this.#wire.run(limits, async () => {
        const session = this.#session;
        if (!session || this.#link.link !== "connected") throw this.#link.unavailable();
        await session.whenFree();
        return await work((command, listener) => this.#runOn(session, command, listener));
      });
    } catch (error) {
      if (error instanceof WireBusy) throw new TerminalUnavailable("busy", error.message);
      throw error;
    }
  }

  /** Asks for the status on this wire and remembers what was told. */
  async refreshStatus(run: RunCommand): Promise<TerminalStatus> {
    this.#learn(await askStatus(run, this.#options, this.#now));
    return this.#known.status as TerminalStatus;
  }

  /** Throws {@link TerminalUnavailable} unless the terminal shows that no command runs on it. */
  async assertIdle(run: RunCommand): Promise<void> {
    const answer = await askStatus(run, this.#options, this.#now);
    this.#learn(answer);
    const { status, refused } = answer;
    if (refused || status.cr === "1") throw new TerminalUnavailable("busy", status.detail);
  }

  async refreshLast(run: RunCommand): Promise<LastTransaction> {
    const told = await askLastTransaction(run, this.#options, this.#now);
    // zvt.md 9.2 step 3.
    if (told.kind === "not-told" && told.notRegistered) {
      await this.#register(run);
      return lastOf(await askLastTransaction(run, this.#options, this.#now));
    }
    return lastOf(told);
  }

  /**
   * What the terminal looks like now. Its last transaction is read every time: whatever was read
   * earlier may be outdated without a sign of it on this line (a sale or a reversal at the
   * terminal's own keys, a restart behind a TCP proxy that keeps the connection, a job of the
   * terminal's own), and a recovery would then take a stranger's sale for ours (DESIGN 3.1 rule 1).
   */
  async baseline(run: RunCommand): Promise<Baseline> {
    return this.#known.baseline(await this.refreshLast(run));
  }

  /** zvt.md 6.1: only another registration tells whether the demands of the last one are met. */
  async relearn(run: RunCommand): Promise<void> {
    await this.#register(run);
    await this.refreshStatus(run);
  }

  /**
   * The terminal restarts: ends the connection, gives it time to go down, and begins a new one by
   * asking until it answers. {@link whenUp} tells when it is back.
   */
  restart(): void {
    this.#restarting = true;
    const session = this.#session;
    // zvt.md 2.4: closing a serial port throws away what the terminal has not acknowledged.
    if (session) this.#giveUp(session, "the terminal restarts", session.whenFree());
  }

  readonly #now = (): number => this.#deps.clock.now();

  async #runOn(
    session: Session,
    command: Command,
    listener?: ExchangeListener,
  ): Promise<ExchangeEnd> {
    await session.whenFree();
    const end = await session.run(command, listener);
    if (end.end === "lost") this.#giveUp(session, end.problem);
    return end;
  }

  /** zvt.md 3, 9.2: a command without an end ends the connection; a new one begins by asking. */
  #giveUp(session: Session, problem: string, after = Promise.resolve()): void {
    this.#resync = true;
    this.#isDown(problem);
    void after.then(() => session.close());
  }

  /** From this moment on nobody may use the session any more. */
  #isDown(problem: string | null): void {
    this.#session = undefined;
    const why = problem ?? "the connection ended";
    const unasked = this.#link.link === "connected" && !this.#closing.signal.aborted;
    if (unasked) this.#logLink("warn", "terminal link lost", why);
    this.#link.set("disconnected", why);
  }

  /** A link that came and went explains many a payment that was not taken. */
  #logLink(level: "info" | "warn", text: string, problem: string | null): void {
    this.#deps.log[level]({ address: this.#deps.transport.address, problem }, text);
  }

  async #run(): Promise<void> {
    const { reconnect } = this.#options;
    for (let attempt = 0; !this.#closing.signal.aborted; attempt++) {
      const wasUp = await this.#connectOnce();
      if (wasUp) attempt = 0;
      if (this.#closing.signal.aborted) break;
      if (this.#restarting) {
        this.#restarting = false;
        await this.#pause("zvt restart", this.#options.restartPauseMs);
      }
      const delayMs = Math.min(reconnect.minMs * 2 ** Math.min(attempt, 16), reconnect.maxMs);
      await this.#pause("zvt reconnect", delayMs * (0.5 + chance() / 2));
    }
    this.#link.set("disconnected", "closed");
  }

  /** One connection from its opening to its end. Resolves with whether it was of any use. */
  async #connectOnce(): Promise<boolean> {
    let wasUp = false;
    let session: Session | undefined;
    let problem: string | null = null;
    const gone = Promise.withResolvers<void>();
    try {
      this.#link.set("connecting", this.#link.problem);
      session = await this.#open({
        down: (why) => {
          problem ??= why;
          if (this.#session === session) this.#isDown(problem);
          gone.resolve();
        },
        outOfStep: (why) => {
          if (session && this.#session === session) this.#giveUp(session, why);
        },
      });
      this.#session = session;
      this.#link.set("registering", "the terminal has not answered yet");
      await this.#introduceOn(session);
      wasUp = true;
      this.#logLink("info", "terminal link up", null);
      this.#link.set("connected", null);
      await this.#poll(session, gone.promise);
    } catch (error) {
      problem ??= error instanceof Error ? error.message : String(error);
      if (!wasUp) this.#logLink("warn", "terminal link", problem);
    }
    if (this.#link.link !== "disconnected") this.#isDown(problem);
    await session?.close();
    return wasUp;
  }

  #open(ends: Pick<SessionListener, "down" | "outOfStep">): Promise<Session> {
    const { transport, clock, log } = this.#deps;
    const { timers, charset } = this.#options;
    return Session.open(
      {
        transport,
        clock,
        log,
        timers,
        charset,
        sessionTimers: timers,
        openLink: transport.kind === "serial" ? openSerialLink : openTcpLink,
      },
      {
        unexpected: (message) => this.#unexpected(message),
        note: (text) => {
          log.info({ text }, "terminal protocol");
          this.#emit({ type: "protocol", text });
        },
        ...ends,
      },
      this.#closing.signal,
    );
  }

  async #introduceOn(session: Session): Promise<void> {
    const { t4Ms } = this.#options.timers;
    const run: RunCommand = (command, listener) => this.#runOn(session, command, listener);
    await this.#wire.run({ waitMs: t4Ms }, () => this.#introduce(run));
  }

  async #introduce(run: RunCommand): Promise<void> {
    this.#known.introduced();
    if (this.#resync) await this.#resynchronise(run);
    await this.#register(run);
    this.#learn(await askStatus(run, this.#options, this.#now));
    // zvt.md 6.5: an older terminal tells its version only without the service byte.
    if (this.#known.version === "") {
      const { identity } = await askStatus(run, this.#options, this.#now, "version");
      this.#known.identify({ version: identity.version });
    }
    const last = await this.refreshLast(run);
    if (last.kind === "not-told") {
      const { why } = last;
      this.#deps.log.warn(
        { why },
        "the terminal tells no last transaction: a lost payment could not be settled",
      );
    }
    this.#known.publishIdentity();
  }

  /** zvt.md 9.2 steps 1 and 2: silence, then ask until the terminal answers and is idle. */
  async #resynchronise(run: RunCommand): Promise<void> {
    if (this.#deps.transport.kind === "serial") {
      await this.#pause("zvt silence", this.#options.silenceMs);
    }
    for (;;) {
      if (this.#closing.signal.aborted) throw this.#link.unavailable();
      const answer = await askStatus(run, this.#options, this.#now);
      if (answer.status.cr !== "1") break;
      await this.#pause("zvt busy terminal", this.#options.timers.t3Ms);
    }
    this.#resync = false;
  }

  async #register(run: RunCommand): Promise<void> {
    const registered = await register(run, this.#options);
    const { charset } = registered;
    if (this.#session && charset) this.#session.charset = charset;
    this.#known.registered(registered);
  }

  /** zvt.md 6.5, 10: asked while idle, so that it can do its own jobs and a lost link shows. */
  async #poll(session: Session, gone: Promise<void>): Promise<void> {
    const { clock } = this.#deps;
    let down = false;
    let waited = false;
    void gone.then(() => {
      down = true;
    });
    while (!down && !this.#closing.signal.aborted) {
      const intervalMs = this.#pollIntervalMs;
      const idleMs = clock.monotonicMs() - session.heardAtMs;
      // Somebody else's questions are as good as ours, but must not keep demands waiting.
      const due = idleMs >= intervalMs || this.#known.demands.length > 0;
      const polling: boolean = waited && due && !this.#wire.held && session.isFree;
      if (polling) await this.withWire({ waitMs: 0 }, (run) => this.#keepHouse(run));
      waited = !polling;
      if (waited) await this.#pauseUntil(gone, Math.max(intervalMs - idleMs, 0) || intervalMs);
    }
  }

  get #pollIntervalMs(): number {
    const { pollIntervalMs, busyPollIntervalMs } = this.#options;
    const { status, demands } = this.#known;
    const attentive = status?.cr === "1" || demands.length > 0;
    return attentive ? Math.min(busyPollIntervalMs, pollIntervalMs) : pollIntervalMs;
  }

  /** Asks for the status; meets one demand when nothing else is going on. */
  async #keepHouse(run: RunCommand): Promise<void> {
    await this.refreshStatus(run);
    const demand = this.#housekeeping.due(this.#known.demands);
    if (demand === undefined || this.#known.status?.cr === "1" || !this.#mayKeepHouse()) return;
    await this.#housekeeping.meet(demand, run);
    await this.relearn(run);
  }

  #learn(answer: StatusAnswer): void {
    this.#known.learn(answer);
    if (this.#link.link === "connected") this.#known.publishIdentity();
  }

  #unexpected(message: Message): void {
    const { language } = this.#options;
    const report = transactionReport(message, { language, nowMs: this.#now() });
    this.#deps.log.warn({ resultCode: report.resultCode }, "report without a payment, refused");
    this.#emit({ type: "unexpected-report", report });
  }

  async #pause(name: string, ms: number): Promise<void> {
    try {
      await sleep(this.#deps.clock, name, ms, this.#closing.signal);
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error;
    }
  }

  async #pauseUntil(event: Promise<void>, ms: number): Promise<void> {
    const over = new AbortController();
    void event.then(() => over.abort());
    const signal = AbortSignal.any([over.signal, this.#closing.signal]);
    try {
      await sleep(this.#deps.clock, "zvt poll", ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

function lastOf(told: LastTransaction & { readonly notRegistered?: boolean }): LastTransaction {
  return told.kind === "not-told" ? { kind: "not-told", why: told.why } : told;
}
