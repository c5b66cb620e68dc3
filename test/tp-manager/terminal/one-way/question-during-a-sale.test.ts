import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import type { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { outcome, pay, request } from "../../../support/house/payment-house.ts";
import { bareHouse, bareOptions } from "./bare-house.ts";
import type { BarePeer } from "./bare-peer.ts";
import { type OneWayHouse, oneWayHouse } from "./one-way-house.ts";
import { ACK, ENQ, EOT, SessionPeer } from "./session-peer.ts";

const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
/** The silence of a recovery run, from the start of the program or from the request. */
const QUIET_MS = 190_000;
const RESULT_MS = 4_000;

/** A kiosk that was started again while A-1 stays unknown, so that sales go on. */
async function startedAgain<Peer extends BarePeer | SessionPeer>(
  start: (path: string) => Promise<OneWayHouse<Peer>>,
  mute: (peer: Peer) => void,
): Promise<OneWayHouse<Peer>> {
  const path = join(temporaryFolder(), "journal.db");
  const before = await start(path);
  mute(before.peer);
  expect(await before.paid("A-1")).toBe("Unknown");
  await before.at.clock.advance(60_000);
  expect(before.at.arbiter.inquiries.blockedBy).toBeUndefined();
  before.at.close();
  await before.driver.close();
  return await start(path);
}

const bareAgain = () =>
  startedAgain(
    (path) => bareHouse(bareOptions, "", path),
    (peer) => {
      peer.onRequest = () => undefined;
    },
  );

const sessionAgain = () =>
  startedAgain(
    (path) => oneWayHouse({ peer: (clock: TestClock) => new SessionPeer(clock), messages, path }),
    (peer) => {
      peer.onPaid = () => undefined;
    },
  );

describe("the question of a recovery run that holds up no sale (docs/rules/25-one-way.md)", () => {
  test("does not close the connection of a sale that runs by then", async () => {
    const { at, peer, paid } = await bareAgain();
    const meanwhile: number[] = [];
    peer.onRequest = () => {
      peer.say(peer.answer({ CB: "300" }), RESULT_MS);
      at.clock.startTimer("meanwhile", RESULT_MS, () => meanwhile.push(peer.pings));
    };
    await at.clock.advance(QUIET_MS - 1_000);
    expect(await paid("B-1", 300)).toBe("Success");
    expect(meanwhile).toEqual([0]);
    await at.clock.advance(60_000);
    expect(peer.pings).toBe(1);
  });

  test("sends nothing in a session while a sale runs", async () => {
    const { at, peer, paid } = await sessionAgain();
    const { onPaid } = peer;
    peer.onPaid = () => at.clock.startTimer("customer", RESULT_MS, onPaid);
    await at.clock.advance(QUIET_MS - 1_000);
    peer.written.length = 0;
    expect(await paid("B-1", 999)).toBe("Success");
    await at.clock.advance(60_000);
    const sent = peer.written.map((hex) => (hex.startsWith("02") ? "request" : hex));
    expect(sent).toEqual([ENQ, "request", EOT, ACK, ACK, ENQ, EOT]);
  });

  test("waits for the silence of a sale whose result was lost meanwhile", async () => {
    const { at, peer } = await bareAgain();
    peer.onRequest = () => peer.drop(RESULT_MS);
    await at.clock.advance(QUIET_MS - 20_000);
    const answer = pay(at, request("B-1", { amountMinor: 300 }));
    await at.clock.advance(RESULT_MS + 1_000);
    expect([outcome(await answer), at.arbiter.inquiries.blockedBy]).toEqual(["Unknown", "B-1"]);
    await at.clock.advance(QUIET_MS - RESULT_MS - 3_000);
    expect([peer.pings, at.arbiter.inquiries.blockedBy]).toEqual([0, "B-1"]);
    await at.clock.advance(5_000);
    expect([peer.pings > 0, at.arbiter.inquiries.blockedBy]).toEqual([true, undefined]);
  });

  test("is over before a sale opens its own connection", async () => {
    const { at, peer, paid } = await bareAgain();
    const { onPing } = peer;
    const opened: number[] = [];
    peer.onPing = () => at.clock.startTimer("slow terminal", 2_000, onPing);
    peer.onRequest = () => {
      opened.push(peer.opened);
      peer.say(peer.answer({ CB: "300" }), 1_000);
    };
    await at.clock.advance(QUIET_MS + 500);
    expect([peer.pings, at.arbiter.inquiries.blockedBy]).toEqual([1, undefined]);
    expect(await paid("B-1", 300)).toBe("Success");
    await at.clock.advance(60_000);
    expect([peer.pings, opened]).toEqual([1, [2]]);
  });
});
