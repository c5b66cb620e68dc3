import { expect, onTestFinished, test } from "vitest";
import {
  encodeFrame,
  FrameReader,
} from "../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { watchRestart } from "../../../../src/tp-manager/terminal/zvt/restart-watch.ts";
import { defaultZvtOptions } from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { ApduReader, encodeApdu, fromHex, toHex } from "../../../../src/zvt/index.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { LinePeer } from "../one-way/line-peer.ts";
import { goodSale } from "./connected-driver.ts";
import { Driver, never } from "./driver.ts";
import { statusCompletion, terminalId } from "./peer.ts";

type Line = "serial" | "tcp";
const STEP_MS = 50;
/** The time in which the terminal sends its last answer before it goes down. */
const LAST_ANSWER_MS = 100;

/** A terminal on the test's clock that restarts by command, with the setup file's own times. */
class RestartingTerminal {
  readonly clock = new TestClock();
  readonly asked: string[] = [];
  /** How many copies of our answer to the end of the restart command get no ACK. */
  acksWithheld = 0;
  /** How many copies of that answer came. */
  lastAnswers = 0;
  readonly driver: Driver;
  /** Whether it goes down before it has ended the restart command. */
  isHasty = false;
  /** Whether it refuses status enquiries until it is registered. */
  wantsRegistration = false;
  readonly #line: Line;
  readonly #peer = new LinePeer(this.clock);
  readonly #awayMs: number;
  #isDown = false;

  constructor(line: Line, awayMs: number) {
    this.#line = line;
    this.#awayMs = awayMs;
    const reader = line === "serial" ? new FrameReader() : new ApduReader();
    this.#peer.hears = (hex) => {
      for (const event of reader.push(fromHex(hex))) {
        if (event.event === "frame") this.#hears(toHex(event.apdu));
        if (event.event === "apdu") this.#hears(toHex(encodeApdu(event.apdu)));
      }
    };
    const { timers, pollIntervalMs, silenceMs, reconnect } = defaultZvtOptions;
    const transport = { ...this.#peer.transport, kind: line };
    const options = { timers, pollIntervalMs, silenceMs, reconnect };
    this.driver = new Driver(transport, options, this.clock);
    onTestFinished(() => this.driver.terminal.close());
    this.driver.terminal.start();
  }

  #hears(apdu: string): void {
    if (this.#isDown) return;
    const isLastAnswer = apdu === "800000" && this.asked.at(-1) === "0618";
    if (isLastAnswer) this.lastAnswers += 1;
    if (isLastAnswer && this.acksWithheld > 0) {
      this.acksWithheld -= 1;
      return;
    }
    if (this.#line === "serial") this.#peer.say("06", 0);
    if (apdu === "800000") return;
    this.asked.push(apdu.slice(0, 4));
    const replies = this.isHasty && apdu === "061800" ? [] : repliesTo[apdu.slice(0, 4)];
    const isRefused = this.wantsRegistration && apdu.startsWith("0501");
    if (this.asked.at(-1) === "0600") this.wantsRegistration = false;
    const answers = isRefused ? ["84c200"] : ["800000", ...(replies ?? ["060f00"])];
    answers.forEach((answer, i) => {
      const bytes = fromHex(answer.replaceAll(" ", ""));
      this.#peer.say(toHex(this.#line === "serial" ? encodeFrame(bytes) : bytes), 2 + 10 * i);
    });
    if (apdu === "061800")
      this.clock.startTimer("goes down", LAST_ANSWER_MS, () => this.#restart());
  }

  #restart(): void {
    this.#isDown = this.#awayMs > 0;
    this.#peer.isAway = this.#isDown && this.#line === "tcp";
    if (this.#peer.isAway) this.#peer.drop(0);
    this.clock.startTimer("is back", this.#awayMs, () => {
      this.#isDown = false;
      this.#peer.isAway = false;
    });
  }

  /** The line breaks; resolves when the driver is connected again. */
  async reconnected(): Promise<void> {
    this.asked.length = 0;
    this.#peer.drop(0);
    await this.clock.advance(STEP_MS);
    await this.untilMs(() => this.driver.terminal.state.link === "connected");
  }

  /** Milliseconds until the condition holds, on the test's clock. */
  async untilMs(condition: () => boolean): Promise<number> {
    const beganMs = this.clock.monotonicMs();
    while (!condition()) {
      await this.clock.advance(STEP_MS);
      expect(this.clock.monotonicMs() - beganMs).toBeLessThan(600_000);
    }
    return this.clock.monotonicMs() - beganMs;
  }

  /** How long a reset takes, from its call to its end. */
  async resetMs(): Promise<number> {
    await this.untilMs(() => this.driver.terminal.state.link === "connected");
    this.asked.length = 0;
    let ended = false;
    const reset = this.driver.terminal.reset?.(never).then(() => {
      ended = true;
    });
    const ms = await this.untilMs(() => ended);
    await reset;
    expect(this.driver.terminal.state.link).toBe("connected");
    return ms;
  }
}

const repliesTo: Readonly<Record<string, readonly string[]>> = {
  "0600": [`060f0a 1910 29${terminalId} 490978`],
  "0501": [statusCompletion()],
  "0620": [goodSale, "060f00"],
  "0618": ["060f00"],
};

test.each<[Line, number]>([
  ["serial", 3_000],
  ["tcp", 3_000],
  ["serial", 300],
  ["serial", 20_000],
  ["tcp", 20_000],
])("a restart over %s that takes %i ms ends soon after that", async (line, awayMs) => {
  const terminal = new RestartingTerminal(line, awayMs);
  const ms = await terminal.resetMs();
  expect(ms).toBeGreaterThan(awayMs);
  expect(ms).toBeLessThanOrEqual(awayMs * 1.3 + 3_000);
  // Registration, status, last transaction, and one restart.
  expect([...new Set(terminal.asked)].toSorted()).toEqual(["0501", "0600", "0618", "0620"]);
  expect(terminal.asked.filter((command) => command === "0618")).toHaveLength(1);
});

test.each<Line>(["serial", "tcp"])(
  "a terminal that does not go down is waited for only as long as the silence over %s",
  async (line) => {
    const terminal = new RestartingTerminal(line, 0);
    const ms = await terminal.resetMs();
    const { silenceMs } = defaultZvtOptions;
    expect(ms).toBeGreaterThanOrEqual(silenceMs);
    expect(ms).toBeLessThanOrEqual(silenceMs + 3_000);
  },
);

test("a terminal that goes down before the end of the restart command is waited for", async () => {
  const terminal = new RestartingTerminal("tcp", 300);
  terminal.isHasty = true;
  const ms = await terminal.resetMs();
  expect(ms).toBeGreaterThan(300);
  expect(ms).toBeLessThanOrEqual(3_400);
  // It is watched then, by enquiries alone, and not when the line breaks for another reason.
  expect(terminal.asked.slice(0, 3)).toEqual(["0618", "0501", "0600"]);
  await terminal.reconnected();
  expect(terminal.asked[0]).toBe("0600");
});

test("a terminal that refuses its status after a restart is registered at once", async () => {
  const terminal = new RestartingTerminal("tcp", 3_000);
  await terminal.untilMs(() => terminal.driver.terminal.state.link === "connected");
  terminal.wantsRegistration = true;
  expect(await terminal.resetMs()).toBeLessThanOrEqual(3_000 * 1.3 + 3_000);
});

test("the last answer stays on the line until the terminal has sent its ACK", async () => {
  const terminal = new RestartingTerminal("serial", 0);
  // The answer and its first repeat get lost: a port that was closed would discard the second one.
  terminal.acksWithheld = 2;
  await terminal.resetMs();
  expect(terminal.acksWithheld).toBe(0);
  const commands = terminal.asked.filter((command) => command === "0618");
  expect(commands).toHaveLength(1);
  expect(terminal.lastAnswers).toBe(3);
});

test("a terminal that answers slowly does not count as restarted before it went down", async () => {
  const clock = new TestClock();
  const beganMs = clock.monotonicMs();
  const isDown = () => {
    const ms = clock.monotonicMs() - beganMs;
    return ms >= 3_000 && ms < 13_000;
  };
  const ask = async (limitMs: number) => {
    const isHeard = !isDown() && limitMs >= 400;
    await clock.advance(isHeard ? 400 : limitMs);
    return isHeard ? "idle" : "none";
  };
  const end = await watchRestart({
    clock,
    ask,
    goesDownWithinMs: 5_000,
    giveUpMs: 180_000,
    pause: (ms) => clock.advance(ms),
    closing: never,
  });
  expect(end).toBe("back");
  expect(clock.monotonicMs() - beganMs).toBeGreaterThan(13_000);
});
