import { random, sleep, within } from "../../../shared/time.ts";
import type { Message } from "../../../zvt/index.ts";
import { type TerminalEvent, type TerminalState, TerminalUnavailable } from "../terminal.ts";
import type { Command } from "./commands/command.ts";
import { logOff } from "./commands/upkeep.ts";
import { Enquiries } from "./enquiries.ts";
import type { RunCommand } from "./introduction.ts";
import { openSerialLink } from "./link/serial-link.ts";
import { openTcpLink } from "./link/tcp-link.ts";
import { LinkStatus, type WaitLimits } from "./link-status.ts";
import { transactionReport } from "./report/transaction-report.ts";
import { type RestartAnswer, watchRestart } from "./restart-watch.ts";
import { type ExchangeListener, Session, type SessionListener } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import { WireBusy, WireLock } from "./wire-lock.ts";
import type { ZvtDependencies, ZvtOptions } from "./zvt-options.ts";

const LOG_OFF_LIMIT_MS = 1_000;

/**
 * Keeps one terminal connected and registered for ever, polls it while it is idle, and lets one
 * command at a time onto the wire. Knows nothing of payments.
 *
 *   connecting -> registering -> connected -> disconnected -> (back-off) -> connecting ...
 */
export class ZvtConnection {
  /** Questions besides payments; their wire comes from {@link withWire}. */
  readonly asks: Enquiries;
  readonly #options: ZvtOptions;
  readonly #deps: ZvtDependencies;
  readonly #emit: (event: TerminalEvent) => void;
  readonly #wire: WireLock;
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;
  #session: Session | undefined;
  readonly #link: LinkStatus;
  /** A command got no end: the line is given time, the terminal is asked before it is used. */
  #resync = false;
  /**
   * The terminal was told to restart and may still be seen going down; `lost`: it may not have
   * heard it to the end.
   */
  #restarting: "told" | "lost" | undefined;

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
    this.asks = new Enquiries(options, dependencies, emit, {
      mayKeepHouse,
      connected: () => this.#link.link === "connected",
      charset: (charset) => {
        if (this.#session) this.#session.charset = charset;
      },
    });
    const { clock, transport } = dependencies;
    this.#link = new LinkStatus(clock, transport.address, (link, problem) => {
      if (link === "disconnected") this.asks.known.disconnected();
      emit({ type: "link", link, problem });
    });
  }

  get state(): Omit<TerminalState, "busy"> & { readonly wireHeld: boolean } {
    const { link, problem } = this.#link;
    const { identity, status, demands } = this.asks.known;
    const known = { identity, status, demands };
    return { link, linkProblem: problem, ...known, wireHeld: this.#wire.held };
  }

  get vending(): boolean {
    return this.asks.known.vending;
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

  /** Runs several commands that belong together, as {@link exchange} runs one. */
  async withWire<T>(limits: WaitLimits, work: (run: RunCommand) => Promise<T>): Promise<T> {
    try {
      return await this.#wire.run(limits, async () => {
        const session = this.#session;
        if (!session || this.#link.link !== "connected") throw this.#link.unavailable();
        if (!session.isFree) await session.whenFree();
        return await work((command, listener) => this.#runOn(session, command, listener));
      });
    } catch (error) {
      if (error instanceof WireBusy) throw new TerminalUnavailable("busy", error.message);
      throw error;
    }
  }

  /**
   * A former process may have left the terminal in the middle of a command: the first connection
   * then begins as after a lost one (docs/zvt.md 9.2). No effect while connected.
   */
  beginCautiously(): void {
    if (this.#link.link !== "connected") this.#resync = true;
  }

  /**
   * Log-Off (docs/zvt.md 6.4) from an idle terminal; from any other nothing is sent. Waits no
   * longer than a second, as its answer decides nothing. Never rejects.
   */
  async logOff(): Promise<void> {
    const { clock, log } = this.#deps;
    const idle = this.#link.link === "connected" && this.asks.known.status?.cr !== "1";
    if (!idle || this.#resync || this.#wire.held) return;
    const asked = this.exchange(logOff(), { waitMs: 0 }).catch((error: unknown) =>
      log.info({ err: error }, "no Log-Off"),
    );
    await within(clock, "zvt log-off", LOG_OFF_LIMIT_MS, asked);
  }

  /**
   * The terminal restarts: ends the connection, and begins a new one by asking until it has gone
   * down and answers again. {@link whenUp} tells when it is back.
   */
  restart(): void {
    const session = this.#session;
    this.#restarting = session ? "told" : "lost";
    // docs/zvt.md 2.4: closing a serial port throws away what the terminal has not acknowledged.
    if (session) this.#giveUp(session, "the terminal restarts", session.whenFree());
  }

  async #runOn(
    session: Session,
    command: Command,
    listener?: ExchangeListener,
  ): Promise<ExchangeEnd> {
    if (!session.isFree) await session.whenFree();
    const end = await session.run(command, listener);
    if (end.end === "lost") this.#giveUp(session, end.problem);
    return end;
  }

  /**
   * docs/zvt.md 3.3, 9.2: a command without an end ends the connection; a new one begins by asking.
   */
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
      if (this.#restarting) await this.#untilRestarted(this.#restarting);
      const delayMs = Math.min(reconnect.minMs * 2 ** Math.min(attempt, 16), reconnect.maxMs);
      await this.#pause("zvt reconnect", delayMs * (0.5 + random() / 2));
    }
    this.#link.set("disconnected", "closed");
  }

  /**
   * docs/zvt.md 10.4. No command runs on a terminal that has restarted, or that has ended the
   * restart's own command and answers: no silence is needed before it is used.
   */
  async #untilRestarted(restarting: "told" | "lost"): Promise<void> {
    this.#restarting = undefined;
    const end = await watchRestart({
      clock: this.#deps.clock,
      goesDownWithinMs: this.#options.restartPauseMs,
      giveUpMs: this.#options.timers.t4Ms,
      ask: (limitMs) => this.#askRestarting(limitMs),
      pause: (ms) => this.#pause("zvt restart", ms),
      closing: this.#closing.signal,
    });
    if (end === "back" || (end === "stayed" && restarting === "told")) this.#resync = false;
  }

  /** One status enquiry on a connection of its own. */
  async #askRestarting(limitMs: number): Promise<RestartAnswer> {
    const over = new AbortController();
    const opened = this.#open({ down: () => {}, outOfStep: () => {} }, over.signal);
    const asked = opened
      .then((session) => this.asks.isBusy((command, listener) => session.run(command, listener)))
      .then((isBusy): RestartAnswer => (isBusy ? "busy" : "idle"))
      .catch((): RestartAnswer => "none");
    const answer = await within(this.#deps.clock, "zvt restart question", limitMs, asked);
    over.abort();
    await opened.then((session) => session.close()).catch(() => undefined);
    return answer ?? "none";
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

  #open(
    ends: Pick<SessionListener, "down" | "outOfStep">,
    given: AbortSignal = this.#closing.signal,
  ): Promise<Session> {
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
      AbortSignal.any([this.#closing.signal, given]),
    );
  }

  async #introduceOn(session: Session): Promise<void> {
    const { t4Ms } = this.#options.timers;
    const run: RunCommand = (command, listener) => this.#runOn(session, command, listener);
    await this.#wire.run({ waitMs: t4Ms }, async () => {
      if (this.#resync) await this.#resynchronise(run);
      await this.asks.introduce(run);
    });
  }

  /** docs/zvt.md 9.2 steps 1 and 2: silence, then ask until the terminal answers and is idle. */
  async #resynchronise(run: RunCommand): Promise<void> {
    if (this.#deps.transport.kind === "serial") {
      await this.#pause("zvt silence", this.#options.silenceMs);
    }
    while (await this.asks.isBusy(run)) {
      await this.#pause("zvt busy terminal", this.#options.timers.t3Ms);
      if (this.#closing.signal.aborted) throw this.#link.unavailable();
    }
    this.#resync = false;
  }

  /**
   * docs/zvt.md 6.5, 10.1: asked while idle, so that it can do its own jobs and a lost link shows.
   */
  async #poll(session: Session, gone: Promise<void>): Promise<void> {
    const { clock } = this.#deps;
    let down = false;
    let waited = false;
    void gone.then(() => {
      down = true;
    });
    while (!down && !this.#closing.signal.aborted) {
      const intervalMs = this.asks.pollIntervalMs;
      const idleMs = clock.monotonicMs() - session.heardAtMs;
      // Any answer to another command makes a poll needless, but must not keep demands waiting.
      const due = idleMs >= intervalMs || this.asks.known.demands.length > 0;
      const polling: boolean = waited && due && !this.#wire.held && session.isFree;
      if (polling) await this.withWire({ waitMs: 0 }, (run) => this.asks.poll(run));
      waited = !polling;
      if (waited) await this.#pauseUntil(gone, Math.max(intervalMs - idleMs, 0) || intervalMs);
    }
  }

  #unexpected(message: Message): void {
    const { language } = this.#options;
    const report = transactionReport(message, { language, nowMs: this.#deps.clock.now() });
    this.#deps.log.warn({ resultCode: report.resultCode }, "report without a payment, refused");
    this.#emit({ type: "unmatched-report", report });
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
