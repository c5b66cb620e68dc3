import { describe, expect, test } from "vitest";
import {
  actionResult,
  decodeFixedReply,
  readTagged,
  tagValue,
} from "../../../../src/concert/index.ts";
import { containsPan } from "../../../../src/shared/masking/mask.ts";
import { BareLine } from "../../../../src/tp-manager/terminal/caisse-ap/bare-line.ts";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import { SessionLine } from "../../../../src/tp-manager/terminal/concert/link/session-line.ts";
import type { Dialogue, Messages } from "../../../../src/tp-manager/terminal/one-way/dialogue.ts";
import { OneWayTerminal } from "../../../../src/tp-manager/terminal/one-way/one-way-terminal.ts";
import type { TransactionReport } from "../../../../src/tp-manager/terminal/terminal.ts";
import { decodeFrame } from "../../../concert/frames.ts";
import { hasAny, hexBytes, rowsOf, type Vector } from "../../../concert/vectors.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";
import { bareMessages } from "./bare-house.ts";
import { LinePeer } from "./line-peer.ts";
import { NAK } from "./session-peer.ts";

type Step = Vector["steps"][number];

/** The pause between two steps: a message ends within it, and a session waits longer than it. */
const STEP_MS = 2_500;
const WAIT_MS = 60_000;
const isFrom = (side: Step["from"], name: Step["name"]) => (step: Step) =>
  step.from === side && step.name === name;

/** The body of a frame whose check byte is right. */
function wholeBody({ name, hex = "" }: Step): Uint8Array | undefined {
  if (name === "message") return hexBytes(hex);
  try {
    return name === "frame" ? decodeFrame(hexBytes(hex)) : undefined;
  } catch {
    return undefined;
  }
}

const requestOf = ({ steps }: Vector): Step | undefined =>
  steps.find((step) => step.from === "register" && ["frame", "message"].includes(step.name));
/** Whether the step is the identification request, which the driver sends as its own question. */
const isIdentification = (step: Step | undefined): boolean =>
  step?.name === "message" && tagValue(readTagged(hexBytes(step.hex ?? "")).tags, "CD") === "I";
const inSessions = ({ steps }: Vector): boolean => steps.some(isFrom("register", "ENQ"));

function messagesOf(vector: Vector): Messages {
  const { protocol } = vector;
  const messages =
    protocol === "caisse-ap"
      ? bareMessages
      : concertMessages({
          variant: protocol.replace("concert-", "") as "e" | "e-plus" | "e-ticket",
          register: "01",
          report: true,
        });
  const request = requestOf(vector);
  const body = request && wholeBody(request);
  // The published register sends requests that our driver never makes.
  return { ...messages, request: () => body ?? new Uint8Array(0) };
}

/** The driver in place of the published register, with the reports that it received. */
function started(vector: Vector) {
  const clock = new TestClock();
  const peer = new LinePeer(clock);
  const { transport } = peer;
  const none = new Uint8Array(0);
  const asks = requestOf(vector);
  const identification = isIdentification(asks) ? hexBytes(asks?.hex ?? "") : none;
  const dialogue: Dialogue = inSessions(vector)
    ? new SessionLine(transport, clock)
    : new BareLine(transport, clock, identification, none);
  const driver = new OneWayTerminal({
    messages: messagesOf(vector),
    dialogue,
    clock,
    log: recordingLog().log,
    waitMs: WAIT_MS,
    quietMs: WAIT_MS,
    silenceMs: 0,
  });
  const reports: TransactionReport[] = [];
  driver.start();
  return { clock, peer, driver, reports };
}

type Playing = ReturnType<typeof started>;

async function asked({ driver, reports }: Playing, isProbe: boolean): Promise<string> {
  const { signal } = new AbortController();
  const order = { amountMinor: 1, currencyNumeric: "978", currencyAlpha: "EUR" };
  try {
    if (isProbe) return (await driver.check(signal)).cr;
    await driver.prepare(signal);
  } catch {
    return "nobody";
  }
  const { end } = await driver.pay(order, {
    report: (report) => {
      reports.push(report);
      return "accept";
    },
    ackArrived: () => {},
    prompt: () => {},
  });
  return end;
}

/** The outcome in the terminal's last complete reply. */
function saidOf({ steps, protocol }: Vector): "done" | "not done" | "nothing" {
  const bodies = steps
    .filter(({ from }) => from === "terminal")
    .flatMap((one) => wholeBody(one) ?? []);
  const ends = bodies.map((body) => {
    if (protocol === "caisse-ap") return actionResult(readTagged(body).tags);
    const ticket = protocol === "concert-e-ticket";
    const { status } = decodeFixedReply(body, { ticket, report: true, currency: "978" });
    return { "0": "performed", "7": "not-performed" }[status];
  });
  const said = { performed: "done", "not-performed": "not done" } as const;
  return said[ends.at(-1) as keyof typeof said] ?? "nothing";
}

describe.skipIf(!hasAny("session"))("the driver as the register (CONFORMANCE_VECTORS)", () => {
  test.each(rowsOf("session"))("%s goes the same way with our driver", async (_id, vector) => {
    const playing = started(vector);
    const { clock, peer, reports } = playing;
    const request = requestOf(vector);
    await clock.advance(10);
    const isProbe = request === undefined || isIdentification(request);
    const ended = asked(playing, isProbe);
    for (const step of vector.steps) {
      const { from, name, hex = "" } = step;
      if (from === "terminal") {
        if (name === "close") peer.drop();
        else peer.say(hex);
      }
      await clock.advance(from === "terminal" ? STEP_MS : 10);
      if (from === "terminal" || name === "close") continue;
      // What follows a silence is sent when the wait of the session is over.
      for (let tries = 0; peer.written.length === 0 && tries < 100; tries++) {
        await clock.advance(100);
      }
      // Our driver asks for a damaged reply again, where that register gave up.
      if (peer.written[0] === NAK && hex !== NAK) peer.written.shift();
      const sent = peer.written.shift();
      // A request that was damaged there is sent intact here.
      if (step !== request || wholeBody(step)) expect(sent).toBe(hex);
    }
    await clock.advance(2 * WAIT_MS);
    const end = await ended;
    const said = isProbe ? "nothing" : saidOf(vector);
    const good = reports.filter((report) => report.good);
    expect([said, good.length]).toEqual([said, said === "done" ? 1 : 0]);
    if (said === "done") expect(end).toBe("completed");
    if (said === "not done") expect(["completed", "lost"]).toContain(end);
    if (said === "nothing" && !isProbe) expect(["lost", "refused", "nobody"]).toContain(end);
    const isThere = ["ACK", "message"].some((name) =>
      vector.steps.some(isFrom("terminal", name as Step["name"])),
    );
    if (isProbe) expect(end).toBe(isThere ? "0" : "nobody");
    expect(containsPan(JSON.stringify(reports))).toBe(false);
    const published = vector.outcome["register"] as Readonly<Record<string, unknown>> | undefined;
    if (typeof published?.["amountMinor"] === "number") {
      expect(reports.at(-1)).toMatchObject({
        amountMinor: published["amountMinor"],
        good: published["accepted"],
      });
    }
  });
});
