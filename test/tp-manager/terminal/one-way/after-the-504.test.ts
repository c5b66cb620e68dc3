import { createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import { OneWayTerminal } from "../../../../src/tp-manager/terminal/one-way/one-way-terminal.ts";
import { createTransport } from "../../../../src/tp-manager/terminal/transport/open-transport.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import type { TestClock } from "../../../support/clocks/test-clock.ts";
import { house, outcome, pay, request } from "../../../support/house/payment-house.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";
import { until } from "../../../support/programs/child-program.ts";
import type { ScriptedTerminal } from "../../../support/terminals/scripted-terminal.ts";
import { bareHouse, bareLineOn, bareMessages } from "./bare-house.ts";
import { tagged } from "./bare-peer.ts";
import { oneWayHouse } from "./one-way-house.ts";
import { ACK, ENQ, EOT, NAK, SessionPeer } from "./session-peer.ts";

/** From the request to the kiosk's 504, and to recovery's question after it. */
const REPORTED_MS = 210_000;
const ASKED_MS = 220_000;
const refused = { AE: "01", AF: "04" };

describe("a bare result after the 504 (docs/concert.md 4.9)", () => {
  test.each([
    ["that approves", REPORTED_MS + 1_000, {}, "charged", 0],
    ["that approves without a reference", REPORTED_MS + 1_000, { CF: undefined }, "charged", 0],
    ["that refuses", REPORTED_MS + 1_000, refused, "not-charged", 0],
    ["that is unclear", REPORTED_MS + 1_000, { AE: "01", AF: "00" }, "in-doubt", 1],
    ["of another amount", REPORTED_MS + 1_000, { CB: "998" }, "in-doubt", 0],
    ["in the moment of the question", ASKED_MS - 100, {}, "charged", 1],
    ["after the question, on a connection that is closed", ASKED_MS + 1_000, {}, "in-doubt", 1],
  ])("%s counts if it is clear and in time", async (_what, afterMs, change, phase, pings) => {
    const made = await bareHouse();
    const { at, peer } = made;
    peer.onRequest = () => peer.say(peer.answer(change), afterMs);
    expect(await made.paid()).toBe("Unknown");
    expect([peer.opened, peer.pings, at.arbiter.inquiries.blockedBy]).toEqual([1, 0, "A-1"]);
    await at.clock.advance(400_000);
    expect([made.phase(), peer.pings]).toEqual([phase, pings]);
    expect([peer.requests.length, at.arbiter.inquiries.blockedBy]).toEqual([1, undefined]);
    expect(at.supervisor.stored).toHaveLength(phase === "charged" ? 1 : 0);
    // Sales go on, whatever is known of this order.
    peer.onRequest = () => peer.say(peer.answer({ CF: undefined }), 1_000);
    expect(await made.paid("B-1")).toBe("Success");
    expect(peer.requests).toHaveLength(2);
  });

  test("that comes instead of the answer to recovery's question counts", async () => {
    const made = await bareHouse();
    const { at, peer } = made;
    peer.onRequest = () => peer.drop(ASKED_MS - 5_000);
    peer.onPing = () => peer.say(peer.answer(), 10);
    expect(await made.paid()).toBe("Unknown");
    await at.clock.advance(400_000);
    expect([made.phase(), peer.pings, peer.requests.length]).toEqual(["charged", 1, 1]);
  });

  test("counts over TCP without anything sent but the request", async () => {
    const heard: string[] = [];
    let socket: Socket | undefined;
    const server = createServer((connected) => {
      socket = connected;
      connected.on("data", (bytes) => heard.push(bytes.toString("latin1")));
      connected.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { readonly port: number };
    const line = { baudRate: 9_600, stopBits: 1 } as const;
    const clock = steppedClock;
    const transport = createTransport(`tcp://127.0.0.1:${port}`, line, clock);
    const driver = new OneWayTerminal({
      messages: bareMessages,
      dialogue: bareLineOn(transport, clock),
      clock,
      log: recordingLog().log,
      waitMs: 100,
      quietMs: 50,
      silenceMs: 60_000,
    });
    try {
      // The house calls its terminal by the driver's interface alone.
      const at = house(undefined, driver as unknown as ScriptedTerminal);
      driver.start();
      at.start();
      expect(outcome(await pay(at, request("A-1")))).toBe("Unknown");
      const reference = /CF010(.{10})/.exec(heard[0] ?? "")?.[1];
      const reply = { CZ: "0300", CA: "01", CB: "999", CD: "0", CE: "978", AE: "10" };
      socket?.write(Buffer.from(tagged({ ...reply, CF: reference }), "hex"));
      const state = () => at.journal.attempts.decisive("A-1")?.state.phase;
      await until("the late result counts", () => state() === "charged" || undefined);
      await until("the run ends", () => at.arbiter.inquiries.blockedBy === undefined || undefined);
      expect([heard.length, at.supervisor.stored.length]).toEqual([1, 1]);
    } finally {
      await driver.close();
      socket?.destroy();
      server.close();
    }
  });
});

describe("a result in a session after the 504", () => {
  const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
  const silent = async () => {
    const made = await oneWayHouse({
      peer: (clock: TestClock) => new SessionPeer(clock),
      messages,
    });
    const { onPaid } = made.peer;
    made.peer.onPaid = () => {};
    expect(await made.paid()).toBe("Unknown");
    made.peer.written.length = 0;
    return { ...made, reportLate: onPaid };
  };

  test("is stored, then gets its ACK, and its order is charged", async () => {
    const { at, peer, phase, reportLate } = await silent();
    reportLate();
    await at.clock.advance(2_000);
    expect([phase(), peer.written]).toEqual(["charged", [ACK, ACK]]);
    await at.clock.advance(400_000);
    expect([peer.requests.length, at.supervisor.stored.length]).toEqual([1, 1]);
    expect(peer.written).toEqual([ACK, ACK]);
  });

  test("that cannot be stored gets NAK, and counts when it is reported again", async () => {
    const { at, peer, phase, reportLate } = await silent();
    const { update } = at.journal.attempts;
    at.journal.attempts.update = () => {
      at.journal.attempts.update = update;
      throw new Error("disk full");
    };
    reportLate();
    await at.clock.advance(5_000);
    expect([phase(), peer.written]).toEqual(["charged", [ACK, NAK, ACK]]);
  });

  test("is never asked for: without it an empty session ends recovery", async () => {
    const { at, peer, phase } = await silent();
    await at.clock.advance(400_000);
    expect([phase(), peer.written]).toEqual(["in-doubt", [ENQ, EOT]]);
    expect(at.arbiter.inquiries.blockedBy).toBeUndefined();
  });
});
