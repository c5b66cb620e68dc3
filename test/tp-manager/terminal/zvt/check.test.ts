import { expect, onTestFinished, test } from "vitest";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { goodSale } from "./connected-driver.ts";
import { Driver, never } from "./driver.ts";
import { type Peer, statusCompletion, tcpPeer, terminalId } from "./peer.ts";

/** A connected driver on the test clock, and a terminal that answers all it is asked. */
async function connected(firstStatus = "00") {
  const peer = await tcpPeer();
  const clock = new TestClock();
  const { terminal, ...driver } = new Driver(peer.transport, {}, clock);
  const at = { status: firstStatus };
  onTestFinished(async () => {
    await terminal.close();
    await peer.close();
  });
  void answers(peer, () => statusCompletion(at.status));
  const up = new Promise<void>((resolve) => {
    terminal.subscribe((event) => {
      if (event.type === "link" && event.link === "connected") resolve();
    });
  });
  terminal.start();
  await up;
  /** The commands that `work` puts on the wire. */
  const wire = async (work: () => Promise<unknown>): Promise<string[]> => {
    const before = peer.log.length;
    await work();
    const sent = peer.log.slice(before).filter((apdu) => apdu !== "800000");
    return sent.map((apdu) => apdu.slice(0, 4));
  };
  return {
    at,
    clock,
    driver,
    check: () => wire(() => terminal.check(never)),
    readLast: () => wire(() => terminal.lastTransaction(never)),
    prepare: () => wire(() => terminal.prepare(never)),
  };
}

async function answers(peer: Peer, status: () => string): Promise<never> {
  for (;;) {
    const command = await peer.next();
    peer.send("800000");
    if (command.startsWith("0600")) await peer.deliver(`060f0a191029${terminalId}490978`);
    else if (command.startsWith("0501")) await peer.deliver(status());
    else await peer.deliver(goodSale, "060f00");
  }
}

const [STATUS, LAST] = ["0501", "0620"] as const;

test("a terminal heard in the last 10 s is not asked for its status before a sale", async () => {
  const { clock, check, readLast, prepare } = await connected();
  await clock.advance(9_000);
  expect(await prepare()).toEqual([LAST]);
  await check();
  await clock.advance(2_000);
  expect(await readLast()).toEqual([STATUS, LAST]);
  await clock.advance(9_000);
  expect(await prepare()).toEqual([LAST]);
});

test("an answer to /check does not make the silence before a sale shorter", async () => {
  const { clock, check, prepare } = await connected();
  await clock.advance(9_000);
  expect(await check()).toEqual([STATUS]);
  expect(await prepare()).toEqual([LAST]);
  for (let i = 0; i < 4; i++) {
    await clock.advance(3_000);
    await check();
  }
  expect(await prepare()).toEqual([STATUS, LAST]);
});

test("an answer to /check does not make a terminal ready for a sale", async () => {
  const { at, clock, check, prepare } = await connected("df");
  at.status = "00";
  await clock.advance(1_000);
  await check();
  await clock.advance(1_000);
  await check();
  expect(await prepare()).toEqual([STATUS, LAST]);
});

test("a recovery asks for the status itself, however lately /check was answered", async () => {
  const { at, check, readLast } = await connected();
  expect(await check()).toEqual([STATUS]);
  expect(await readLast()).toEqual([STATUS, LAST]);
  at.status = "9c";
  await expect(readLast()).rejects.toMatchObject({ reason: "busy" });
});
