import { BrokenInvariant } from "../../../shared/invariant.ts";
import { type Clock, random, sleep, within } from "../../../shared/time.ts";
import type { Message } from "../../../zvt/index.ts";
import { type LinkState, type TerminalState, TerminalUnavailable } from "../terminal.ts";
import { logOff, resetTerminal } from "./commands/commands.ts";
import { Enquiries, type StatusAnswer } from "./enquiries.ts";
import { transactionReport } from "./report/transaction-report.ts";
import { type RestartAnswer, watchRestart } from "./restart-watch.ts";
import { type RunCommand, Session } from "./session/session.ts";
import type { ExchangeEnd } from "./session/session-state.ts";
import type { ZvtContext } from "./zvt-options.ts";

/** The longest wait for the answer to a Log-Off, which decides nothing. */
const LOG_OFF_LIMIT_MS = 1_000;

/**
 * Keeps one terminal connected and registered for ever, polls the idle terminal, and runs one
 * command at a time. Knows no payments.
 *
 *   connecting -> registering -> connected -> disconnected -> (back-off) -> connecting ...
 */
export class ZvtConnection {
  /** Asks the terminal for status and last transaction; only to be used in {@link withWire}. */
  readonly asks: Enquiries;
  readonly #zvt: ZvtContext;
  readonly #mayKeepHouse: () => boolean;
  readonly #wire: WireLock;
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;
  session: Session | undefined;
  #link: LinkState = "disconnected";
  #problem: string | null = "not started";
  #linkChange = new AbortController();
  /** Whether the next link begins with silence and enquiries after a loss (docs/zvt.md 9.2). */
  #resync = false;
  /** Since when (monotonic ms) a terminal on such a link has only refused, without "busy". */
  #refusedSinceMs: number | undefined;
  /** The longest T4 of the connections that were given up; a terminal can name a longer one. */
  #t4Ms: number;
  /** Set during a restart, even before it goes down. "ended": completed; "lost": no completion. */
  #restarting: "ended" | "lost" | undefined;

  /** `mayKeepHouse` returns whether a poll may carry out maintenance now. */
  constructor(zvt: ZvtContext, mayKeepHouse: () => boolean) {
    this.#zvt = zvt;
    this.#mayKeepHouse = mayKeepHouse;
    this.#t4Ms = zvt.options.timers.t4Ms;
    this.#wire = new WireLock(zvt.clock);
    this.asks = new Enquiries(zvt);
  }

  get state(): TerminalState {
    const { identity, status, demands } = this.asks;
    const busy = this.#wire.held || this.session?.isFree === false;
    return { link: this.#link, linkProblem: this.#problem, identity, status, demands, busy };
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await this.session?.close();
    await this.#loop;
  }

  /** Waits for the link. Throws {@link TerminalUnavailable} after `waitMs`, or `signal.reason`. */
  async whenUp({ waitMs, signal }: WaitLimits): Promise<void> {
    const { clock } = this.#zvt;
    const deadlineMs = clock.monotonicMs() + waitMs;
    while (this.#link !== "connected") {
      signal?.throwIfAborted();
      const leftMs = deadlineMs - clock.monotonicMs();
      if (this.#closing.signal.aborted || leftMs <= 0) throw this.#unavailable();
      const change = this.#linkChange.signal;
      const ended = signal ? AbortSignal.any([signal, change]) : change;
      await sleep(clock, "zvt wait for link", leftMs, ended).catch(() => undefined);
    }
  }

  #unavailable(): TerminalUnavailable {
    if (this.#closing.signal.aborted) return new TerminalUnavailable("closed", "shutting down");
    const { address } = this.#zvt.transport;
    const why = this.#problem ?? "no connection";
    return new TerminalUnavailable(
      this.#link === "registering" ? "not-registered" : "disconnected",
      `the terminal at ${address} is not connected: ${why}`,
    );
  }

  #setLink(link: LinkState, problem: string | null): void {
    if (link === this.#link && problem === this.#problem) return;
    this.#link = link;
    this.#problem = problem;
    if (link === "disconnected") this.asks.disconnected();
    this.#zvt.emit({ type: "link", link, problem });
    this.#wake();
  }

  #wake(): void {
    const change = this.#linkChange;
    this.#linkChange = new AbortController();
    change.abort();
  }

  /** Runs commands; no other caller can send one meanwhile. Throws {@link TerminalUnavailable}. */
  async withWire<T>(limits: WaitLimits, work: (run: RunCommand) => Promise<T>): Promise<T> {
    return await this.#wire.run(limits, async () => {
      const session = this.session;
      if (!session || this.#link !== "connected") throw this.#unavailable();
      return await work(this.#runOn(session));
    });
  }

  /**
   * Lets the first connection begin as after a lost command (docs/zvt.md 9.2), because an earlier
   * process may have left a command running.
   */
  beginCautiously(): void {
    if (this.#link !== "connected") this.#resync = true;
  }

  /** Sends Log-Off (docs/zvt.md 6.4), only to an idle terminal. Never rejects. */
  async logOff(): Promise<void> {
    const { clock, log } = this.#zvt;
    const idle = this.#link === "connected" && this.asks.status?.cr !== "1";
    if (!idle || this.#resync || this.#wire.held) return;
    const asked = this.withWire({ waitMs: 0 }, (run) => run(logOff())).catch((error: unknown) =>
      log.info({ err: error }, "the terminal did not carry out the command Log-Off"),
    );
    await within(clock, "zvt log-off", LOG_OFF_LIMIT_MS, asked);
  }

  /** Restarts the terminal and ends the connection; {@link whenUp} waits until it is back. */
  async restart(run: RunCommand): Promise<ExchangeEnd> {
    // A terminal that goes down before its completion (06 0F) restarts too.
    this.#restarting = "lost";
    const end = await run(resetTerminal());
    const session = this.session;
    const isUp = end.end === "refused" || end.end === "aborted" || end.end === "not-sent";
    if (isUp) this.#restarting = undefined;
    else if (session) {
      this.#restarting = "ended";
      // Only a free session is closed: closing a port discards bytes without ACK (docs/zvt.md 2.4).
      this.#giveUp(session, "the terminal restarts", session.whenFree());
    }
    return end;
  }

  #runOn(session: Session): RunCommand {
    return async (...given) => {
      const end = await runWhenFree(session, ...given);
      if (end.end === "lost") this.#giveUp(session, end.problem);
      return end;
    };
  }

  /** Ends a connection on which a command was lost; the next one begins with an enquiry. */
  #giveUp(session: Session, problem: string, after = Promise.resolve()): void {
    this.#resync = true;
    this.#t4Ms = Math.max(this.#t4Ms, session.t4Ms);
    this.#takeDown(problem);
    void after.then(() => session.close());
  }

  #takeDown(problem: string | null): void {
    this.session = undefined;
    const why = problem ?? "the connection ended";
    const isBroken = this.#link === "connected" && !this.#closing.signal.aborted;
    if (isBroken) this.#logLink("warn", "terminal link lost", why);
    this.#setLink("disconnected", why);
  }

  #logLink(level: "info" | "warn", text: string, problem: string | null): void {
    this.#zvt.log[level]({ address: this.#zvt.transport.address, problem }, text);
  }

  async #run(): Promise<void> {
    const { reconnect } = this.#zvt.options;
    for (let attempt = 0; !this.#closing.signal.aborted; attempt++) {
      if (await this.#connectOnce()) attempt = 0;
      if (this.#closing.signal.aborted) break;
      if (this.#restarting) await this.#untilRestarted(this.#restarting);
      const delayMs = Math.min(reconnect.minMs * 2 ** Math.min(attempt, 16), reconnect.maxMs);
      await this.#pause("zvt reconnect", delayMs * (0.5 + random() / 2));
    }
    this.#setLink("disconnected", "closed");
  }

  /**
   * Waits until a restarting terminal is back (docs/zvt.md 10.4). The next link begins without
   * silence only if the terminal went down, or ended the restart command and still answers: no
   * command can run on the terminal then.
   */
  async #untilRestarted(restarting: "ended" | "lost"): Promise<void> {
    this.#restarting = undefined;
    const end = await watchRestart({
      clock: this.#zvt.clock,
      goesDownWithinMs: this.#zvt.options.silenceMs,
      giveUpMs: this.#zvt.options.timers.t4Ms,
      ask: (limitMs) => this.#askRestarting(limitMs),
      pause: (ms) => this.#pause("zvt restart", ms),
      closing: this.#closing.signal,
    });
    if (end === "back" || (end === "stayed" && restarting === "ended")) this.#resync = false;
  }

  /** Sends one status enquiry on a new connection, and closes that connection. */
  async #askRestarting(limitMs: number): Promise<RestartAnswer> {
    const over = new AbortController();
    const ignored = (): void => {};
    const opened = this.#open(ignored, ignored, over.signal);
    const asked = opened
      .then((session) => this.asks.peek((...given) => runWhenFree(session, ...given)))
      .then(({ status }): RestartAnswer => (status.cr === "1" ? "busy" : "idle"))
      .catch((error: unknown): RestartAnswer => {
        if (error instanceof BrokenInvariant) throw error;
        return "none";
      });
    const answer = await within(this.#zvt.clock, "zvt restart question", limitMs, asked);
    over.abort();
    await opened.then((session) => session.close()).catch(() => undefined);
    return answer ?? "none";
  }

  /** Opens one connection and polls on it until it ends. Returns whether the link came up. */
  async #connectOnce(): Promise<boolean> {
    let wasUp = false;
    let session: Session | undefined;
    let problem: string | null = null;
    const gone = new AbortController();
    try {
      this.#setLink("connecting", this.#problem);
      const down = (why: string | null): void => {
        problem ??= why;
        if (this.session === session) this.#takeDown(problem);
        gone.abort();
      };
      session = await this.#open(down, (why) => {
        if (session && this.session === session) this.#giveUp(session, why);
      });
      this.session = session;
      this.#setLink("registering", "the terminal has not answered yet");
      await this.#introduceOn(session);
      wasUp = true;
      this.#logLink("info", "terminal link up", null);
      this.#setLink("connected", null);
      await this.#poll(session, gone.signal);
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      problem ??= error instanceof Error ? error.message : String(error);
      if (!wasUp) this.#logLink("warn", "terminal link", problem);
    }
    if (this.#link !== "disconnected") this.#takeDown(problem);
    await session?.close();
    return wasUp;
  }

  #open(
    down: (problem: string | null) => void,
    outOfSync: (problem: string) => void,
    given: AbortSignal = this.#closing.signal,
  ): Promise<Session> {
    const { timers } = this.#zvt.options;
    const options = { ...this.#zvt, timers, charset: () => this.asks.charset };
    const session = new Session(options, {
      unmatched: (message) => this.#unmatched(message),
      note: (text) => {
        this.#zvt.log.info({ text }, "the terminal deviated from the protocol");
        this.#zvt.emit({ type: "protocol", text });
      },
      down,
      outOfSync,
    });
    return session.open(AbortSignal.any([this.#closing.signal, given]));
  }

  async #introduceOn(session: Session): Promise<void> {
    const { t4Ms } = this.#zvt.options.timers;
    const run = this.#runOn(session);
    await this.#wire.run({ waitMs: t4Ms }, async () => {
      if (this.#resync) await this.#resynchronise(run);
      await this.asks.introduce(run);
    });
  }

  /** Is silent, then asks until the terminal is idle (docs/zvt.md 9.2, steps 1 and 2). */
  async #resynchronise(run: RunCommand): Promise<void> {
    if (this.#zvt.transport.kind === "serial") {
      await this.#pause("zvt silence", this.#zvt.options.silenceMs);
    }
    while (this.#mayRunCommand(await this.asks.peek(run))) {
      await this.#pause("zvt busy terminal", this.#zvt.options.timers.t3Ms);
      if (this.#closing.signal.aborted) throw this.#unavailable();
    }
    this.#resync = false;
    this.#refusedSinceMs = undefined;
  }

  /**
   * Returns whether a lost command may still run. A refusal that does not say "busy" counts for T4
   * only: a terminal may also refuse because it is locked or wants its registration first.
   */
  #mayRunCommand({ status, refused }: StatusAnswer): boolean {
    const isBusy = status.cr === "1";
    if (!isBusy && !refused) return false;
    const problem = `the terminal is not registered yet: ${status.detail}`;
    if (this.#link === "registering" && problem !== this.#problem) {
      this.#logLink("warn", "terminal link", problem);
      this.#setLink("registering", problem);
    }
    const nowMs = this.#zvt.clock.monotonicMs();
    this.#refusedSinceMs = isBusy ? undefined : (this.#refusedSinceMs ?? nowMs);
    return isBusy || nowMs - (this.#refusedSinceMs ?? nowMs) < this.#t4Ms;
  }

  /** Sends status enquiries to an idle terminal, which reveal a lost link (docs/zvt.md 10.1). */
  async #poll(session: Session, gone: AbortSignal): Promise<void> {
    const { clock } = this.#zvt;
    let waited = false;
    while (!gone.aborted && !this.#closing.signal.aborted) {
      const intervalMs = this.asks.pollIntervalMs;
      const idleMs = clock.monotonicMs() - session.heardAtMs;
      // An answer to another command replaces a poll, unless the terminal demands maintenance.
      const due = idleMs >= intervalMs || this.asks.demands.length > 0;
      const polling: boolean = waited && due && !this.#wire.held && session.isFree;
      if (polling)
        await this.withWire({ waitMs: 0 }, (run) => this.asks.poll(run, this.#mayKeepHouse));
      waited = !polling;
      const pauseMs = Math.max(intervalMs - idleMs, 0) || intervalMs;
      if (waited) await this.#pause("zvt poll", pauseMs, gone);
    }
  }

  #unmatched(message: Message): void {
    const report = transactionReport(message, this.#zvt);
    this.#zvt.log.warn(
      { resultCode: report.resultCode },
      "the terminal reported a result while no payment was running; the result was refused",
    );
    this.#zvt.emit({ type: "unmatched-report", report });
  }

  async #pause(name: string, ms: number, event = this.#closing.signal): Promise<void> {
    const ended = AbortSignal.any([event, this.#closing.signal]);
    await sleep(this.#zvt.clock, name, ms, ended).catch(() => undefined);
  }
}

interface WaitLimits {
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

/** Lets one caller at a time use the wire, in the order in which they asked. */
export class WireLock {
  readonly #clock: Clock;
  readonly #waiting: AbortController[] = [];
  held = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `work` when the wire is free. Throws {@link TerminalUnavailable} or `signal.reason`. */
  async run<T>({ waitMs, signal }: WaitLimits, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.held) await this.#acquire(waitMs, signal);
    this.held = true;
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next.abort();
    else this.held = false;
  }

  async #acquire(waitMs: number, signal?: AbortSignal): Promise<void> {
    const free = new AbortController();
    this.#waiting.push(free);
    const ended = signal ? AbortSignal.any([free.signal, signal]) : free.signal;
    await sleep(this.#clock, "zvt wire", waitMs, ended).catch(() => undefined);
    // A caller that gets the wire at the moment when its waiting time ends keeps the wire; a caller
    // that is cancelled at that moment passes it on.
    if (free.signal.aborted) {
      if (!signal?.aborted) return;
      this.#release();
    } else this.#waiting.splice(this.#waiting.indexOf(free), 1);
    signal?.throwIfAborted();
    throw new TerminalUnavailable("busy", "another command is running on the terminal");
  }
}

/** Runs a command as soon as the session is free, of which the caller is the only user now. */
async function runWhenFree(session: Session, ...given: Parameters<RunCommand>) {
  // Checked again after each wait: a message in one piece with the awaited ACK wants an answer.
  while (!session.isFree) await session.whenFree();
  return await session.run(...given);
}
