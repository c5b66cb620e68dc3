import { describe, expect, test } from "vitest";
import { Housekeeping } from "../../../../src/tp-manager/terminal/zvt/housekeeping.ts";
import {
  defaultZvtOptions,
  type ZvtOptions,
} from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { connect, goodSale } from "./connected-driver.ts";
import { type Driver, never, Observer, tenEuro } from "./driver.ts";
import { type Peer, repeatReceipt, statusCompletion, tcpPeer, terminalId } from "./peer.ts";

const enquiry = "0501050000000306";
const ready = statusCompletion();
const initialised = { registration: "10", status: ready };

const quick: Partial<ZvtOptions> = {
  pollIntervalMs: 30,
  busyPollIntervalMs: 10,
  housekeepingPause: { minMs: 60_000, maxMs: 60_000 },
};

interface Said {
  /** The status byte of the registration. */
  readonly registration: string;
  /** The completion of the status enquiry. */
  readonly status: string;
}

async function register(peer: Peer, { registration }: Said): Promise<void> {
  await peer.expect(/^0600/);
  peer.send("800000");
  await peer.deliver(`060f 0a 19${registration} 29${terminalId} 490978`);
}

async function status(peer: Peer, said: Said): Promise<void> {
  await peer.expect(enquiry);
  peer.send("800000");
  await peer.deliver(said.status);
}

async function introduce(peer: Peer, said: Said): Promise<void> {
  await register(peer, said);
  await status(peer, said);
  await repeatReceipt(peer, [goodSale]);
}

function begin(said: Said, options = quick): Promise<{ peer: Peer; driver: Driver }> {
  return connect(tcpPeer, options, (peer) => introduce(peer, said));
}

function jobs(driver: Driver): unknown[] {
  return driver.events.filter(({ type }) => type === "housekeeping");
}

/** Housekeeping without a line; `meet` is one attempt that ends as given. */
function alone() {
  const clock = new TestClock();
  const quiet = (): void => {};
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet };
  const keeper = new Housekeeping({ options: defaultZvtOptions, clock, log, emit: quiet });
  const meet = (end: "not-sent" | "lost"): Promise<void> =>
    keeper.meet("diagnosis", () => Promise.resolve({ end, problem: "the line is closed" }));
  return { keeper, clock, meet };
}

describe("maintenance demands of a terminal", () => {
  const cures: Array<[string, Said, string | RegExp]> = [
    ["status 51", { registration: "10", status: statusCompletion("51") }, "069303000000"],
    ["status C2", { registration: "10", status: statusCompletion("c2") }, "067005 06031b0102"],
    [
      "status 62",
      { registration: "10", status: statusCompletion("62") },
      /^06910b000000aa\d{6}0c\d{6}$/,
    ],
    ["registration bit 01", { registration: "11", status: ready }, "069303000000"],
    ["registration bit 02", { registration: "12", status: ready }, "067005 06031b0102"],
    [
      "tag 1F13 with 02",
      { registration: "10", status: statusCompletion("00", "1f130102") },
      "067005 06031b0103",
    ],
  ];
  test.each(cures)("are met on an idle terminal: %s", async (_name, said, cure) => {
    const { peer, driver } = await begin(said);
    expect(driver.terminal.state.status?.call).toBe("1");
    await status(peer, said);
    await peer.expect(cure);
    peer.send("800000");
    await peer.deliver("04ff01c9", "06d10181", "060f00");
    await register(peer, initialised);
    await status(peer, initialised);
    await driver.until(() => driver.terminal.state.status?.call === "0");
    expect(jobs(driver)).toMatchObject([{ problem: null }]);
  });

  test("for an end of day become an event, and the driver itself begins none", async () => {
    const said = { registration: "10", status: statusCompletion("f0") };
    const { peer, driver } = await begin(said);
    expect(driver.events).toContainEqual({ type: "demand", demand: "end-of-day" });
    expect(driver.terminal.state.status).toMatchObject({ cr: "2", call: "1" });
    await status(peer, said);
    await status(peer, said);
    expect(peer.log.filter((apdu) => apdu.startsWith("0650"))).toEqual([]);
  });

  test("that cannot be met are tried again only after growing pauses", async () => {
    const said = { registration: "10", status: statusCompletion("c2") };
    const beganMs = performance.now();
    const { peer, driver } = await begin(said, {
      ...quick,
      housekeepingPause: { minMs: 100, maxMs: 60_000 },
    });
    const metAtMs: number[] = [];
    while (metAtMs.length < 4) {
      const apdu = await peer.next();
      peer.send("800000");
      if (apdu.startsWith("0670")) {
        metAtMs.push(performance.now() - beganMs);
        await peer.deliver("061e01a1");
      } else if (apdu.startsWith("0600")) {
        await peer.deliver(`060f0a191029${terminalId}490978`);
      } else {
        await peer.deliver(said.status);
      }
    }
    const [, second, third, fourth] = metAtMs;
    // Measured from the start, because a job that is late shortens the pause that follows it. A
    // timer may be a millisecond early.
    expect(second).toBeGreaterThanOrEqual(100 - 1);
    expect(third).toBeGreaterThanOrEqual(100 + 200 - 2);
    expect(fourth).toBeGreaterThanOrEqual(100 + 200 + 400 - 3);
    expect(jobs(driver)[0]).toMatchObject({ job: "diagnosis", problem: "A1 no answer" });
  });

  test("wait twice as long after each failed attempt", async () => {
    const { keeper, clock, meet } = alone();
    await meet("lost");
    for (const pauseMs of [60_000, 120_000, 240_000]) {
      await meet("lost");
      await clock.advance(pauseMs - 1);
      expect(keeper.due(["diagnosis"])).toBeUndefined();
      await clock.advance(1);
      expect(keeper.due(["diagnosis"])).toBe("diagnosis");
    }
  });

  test("that were met and come again before the next poll wait for no pause", async () => {
    const said = { registration: "10", status: statusCompletion("c2") };
    const { peer } = await begin(said);
    for (let met = 0; met < 3; met++) {
      await status(peer, said);
      await peer.expect("067005 06031b0102");
      peer.send("800000");
      await peer.deliver("060f00");
      await register(peer, initialised);
      await status(peer, initialised);
    }
  });

  test("that stand after a good job are met again at once, and then after a pause", async () => {
    const said = { registration: "10", status: statusCompletion("c2") };
    const { peer } = await begin(said);
    for (let met = 0; met < 2; met++) {
      await status(peer, said);
      await peer.expect("067005 06031b0102");
      peer.send("800000");
      await peer.deliver("060f00");
      await register(peer, initialised);
      // The demand came again before the driver asked, although the job had succeeded.
      await status(peer, said);
    }
    for (let polls = 0; polls < 5; polls++) await status(peer, said);
  });

  test("wait for no pause when the command was not sent", async () => {
    const { keeper, meet } = alone();
    await meet("not-sent");
    expect(keeper.due(["diagnosis"])).toBe("diagnosis");
    await meet("lost");
    await meet("lost");
    await meet("not-sent");
    expect(keeper.due(["diagnosis"])).toBeUndefined();
  });

  test("are met again at once after a lost link, and after a pause from then on", async () => {
    const said = { registration: "10", status: statusCompletion("c2") };
    const { peer } = await begin(said);
    for (let lost = 0; lost < 2; lost++) {
      await status(peer, said);
      await peer.expect("067005 06031b0102");
      peer.send("800000");
      peer.drop();
      await peer.expect(enquiry);
      peer.send("800000");
      await peer.deliver(said.status);
      await introduce(peer, said);
    }
    for (let polls = 0; polls < 5; polls++) await status(peer, said);
  });

  test("are met at once when an end of day is over", async () => {
    const needs = { registration: "10", status: statusCompletion("51") };
    const { peer, driver } = await begin(initialised);
    const preparing = driver.terminal.prepare(never);
    const answerUntil = async (last: string): Promise<void> => {
      for (let apdu = await peer.next(); !apdu.startsWith(last); apdu = await peer.next()) {
        peer.send("800000");
        await peer.deliver(ready);
      }
    };
    await answerUntil("0620");
    peer.send("800000");
    await peer.deliver(goodSale, "060f00");
    await preparing;
    const closing = driver.terminal.telecollect?.(never);
    await answerUntil("0623");
    peer.send("848300");
    await peer.expect(/^0650/);
    peer.send("84cc00");
    expect(await closing).toMatchObject({ end: "refused" });
    await status(peer, needs);
    await peer.expect(/^0693/);
  });

  test("wait until the terminal was probed about a lost payment", async () => {
    const needs = { registration: "10", status: statusCompletion("c2") };
    const { peer, driver } = await begin(initialised, { ...quick, pollIntervalMs: 200 });
    const paying = driver.terminal.pay(tenEuro, new Observer());
    while (!(await peer.next()).startsWith("0601")) peer.send("800000", ready);
    peer.send("800000");
    peer.drop();
    expect(await paying).toMatchObject({ end: "lost" });
    await status(peer, needs);
    await introduce(peer, needs);
    await status(peer, needs);
    await status(peer, needs);
    const asking = driver.terminal.lastTransaction(never);
    for (;;) {
      const apdu = await peer.next();
      expect(apdu).not.toMatch(/^0670/);
      peer.send("800000");
      if (apdu.startsWith("0620")) break;
      await peer.deliver(needs.status);
    }
    await peer.deliver(goodSale, "060f00");
    await asking;
    await status(peer, needs);
    await peer.expect(/^0670/);
  });
});

describe("after a restart with an order in doubt", () => {
  test("maintenance demands wait until recovery has ended", async () => {
    const needs = { registration: "10", status: statusCompletion("51") };
    const { peer, driver } = await connect(
      tcpPeer,
      quick,
      async (at) => {
        await status(at, needs);
        await introduce(at, needs);
      },
      (terminal) => terminal.keepEvidence(true),
    );
    await status(peer, needs);
    const asking = driver.terminal.lastTransaction(never);
    for (;;) {
      const apdu = await peer.next();
      expect(apdu).not.toMatch(/^0693/);
      peer.send("800000");
      if (apdu.startsWith("0620")) break;
      await peer.deliver(needs.status);
    }
    await peer.deliver(goodSale, "060f00");
    await asking;
    // Recovery may send more probes, so the driver still only asks for the status.
    await status(peer, needs);
    await status(peer, needs);
    driver.terminal.keepEvidence(false);
    for (let apdu = await peer.next(); !apdu.startsWith("0693"); apdu = await peer.next()) {
      expect(apdu).toBe(enquiry);
      peer.send("800000");
      await peer.deliver(needs.status);
    }
  });
});

test("a terminal that cannot take cards refuses a payment before the customer starts", async () => {
  const said = { registration: "10", status: statusCompletion("df") };
  const { peer, driver } = await begin(said, { pollIntervalMs: 60_000 });
  const preparing = driver.terminal.prepare(never);
  const refused = expect(preparing).rejects.toMatchObject({ reason: "out-of-order" });
  await status(peer, said);
  await refused;
});

describe("a lock of the terminal that stops the probe about a lost payment", () => {
  test("is ended by its job, and the next probe is answered", async () => {
    const locked = { registration: "10", status: statusCompletion("51") };
    const { peer, driver } = await begin(initialised, { ...quick, pollIntervalMs: 200 });
    driver.terminal.keepEvidence(true);
    const refused = driver.terminal.lastTransaction(never);
    refused.catch(() => undefined);
    let asked = false;
    for (let apdu = await peer.next(); !apdu.startsWith("0693"); apdu = await peer.next()) {
      peer.send("800000");
      if (apdu.startsWith("0620")) asked = true;
      await peer.deliver(apdu.startsWith("0620") ? "061e0151" : locked.status);
    }
    expect(asked).toBe(true);
    await expect(refused).rejects.toMatchObject({ reason: "out-of-order" });
    peer.send("800000");
    await peer.deliver("060f00");
    await register(peer, initialised);
    await status(peer, initialised);
    const asking = driver.terminal.lastTransaction(never);
    await status(peer, initialised);
    await repeatReceipt(peer, [goodSale]);
    expect(await asking).toMatchObject({ kind: "transaction" });
  });

  test("is not assumed while the status is ready, so a refused probe is an answer", async () => {
    const { peer, driver } = await begin(initialised, quick);
    const asking = driver.terminal.lastTransaction(never);
    await status(peer, initialised);
    await peer.expect(/^0620/);
    peer.send("800000");
    await peer.deliver("061e01a0");
    expect(await asking).toMatchObject({ kind: "not-told", refused: true });
  });
});
