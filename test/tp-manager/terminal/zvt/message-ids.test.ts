import { describe, expect, test } from "vitest";
import { bothLines, connect, goodSale } from "./connected-driver.ts";
import { type Driver, never, Observer, patientTimers, tenEuro } from "./driver.ts";
import { type Peer, statusCompletion, tcpPeer, terminalId, withLength } from "./peer.ts";

/** A terminal that numbers its messages as the published example does (docs/zvt.md 9.4). */
class NumberedPeer {
  readonly peer: Peer;
  #last = 0;

  constructor(peer: Peer) {
    this.peer = peer;
  }

  /** Waits for a command, which must have the next number, and accepts it. */
  async command(start: string): Promise<void> {
    await this.peer.expect(new RegExp(`^${start}.*${tagOf(++this.#last)}$`));
    this.peer.send(this.answer());
  }

  answer(control = "8000", id = this.#last): string {
    return numbered(`${control}00`, id);
  }

  next(apdu: string): string {
    return numbered(apdu, ++this.#last);
  }

  async deliver(...apdus: string[]): Promise<void> {
    for (const apdu of apdus) {
      this.peer.send(this.next(apdu));
      await this.peer.expect(this.answer());
    }
  }

  get last(): number {
    return this.#last;
  }
}

function tagOf(id: number): string {
  return `1f7303${String(id).padStart(6, "0")}`;
}

function numbered(apdu: string, id: number): string {
  return withLength(`${apdu.replaceAll(" ", "")}0606${tagOf(id)}`);
}

async function register(peer: Peer, echo = "06061f7303000000"): Promise<void> {
  await peer.expect(/^0600.*1f7303000000$/);
  peer.send("800000");
  await peer.deliver(withLength(`060f00 1910 29${terminalId} 490978 ${echo}`));
}

async function begin(
  makePeer: () => Promise<Peer>,
): Promise<{ driver: Driver; terminal: NumberedPeer }> {
  let terminal: NumberedPeer | undefined;
  const { driver } = await connect(makePeer, {}, async (peer) => {
    terminal = new NumberedPeer(peer);
    await register(peer);
    await terminal.command("0501");
    await terminal.deliver(ready);
    await terminal.command("0501");
    await terminal.deliver("060f 08 f0f0f4322e3134 00");
    await terminal.command("0620");
    await terminal.deliver(goodSale, "060f00");
  });
  return { driver, terminal: terminal as NumberedPeer };
}

/** A completion without a container of its own, so that the id is its only tag. */
const ready = "060f 01 00";
const line = "06d1 05 0042656c65";

describe.each(bothLines)("numbered messages over %s", (_kind, makePeer) => {
  test("carry a whole payment, and do not show in its result", async () => {
    const { driver, terminal } = await begin(makePeer);
    const observer = new Observer();
    const paying = driver.terminal.pay(tenEuro, observer);
    await terminal.command("0601");
    await terminal.deliver("04ff 01 0a", goodSale, line, "06d1 01 81", "060f00");
    expect(await paying).toEqual({ end: "completed", ticket: "Bele" });
    expect(observer.happened).toEqual(["prompt 0A", "report 00", "acknowledged"]);
  });

  test("with the previous number are repeats, answered again and not passed on", async () => {
    const { driver, terminal } = await begin(makePeer);
    const { peer } = terminal;
    const observer = new Observer();
    const paying = driver.terminal.pay(tenEuro, observer);
    await terminal.command("0601");
    for (const apdu of [goodSale, line]) {
      const once = terminal.next(apdu);
      peer.send(once);
      await peer.expect(terminal.answer());
      // On a serial line the answer got its ACK, so the link alone would take it for new.
      peer.send(once);
      await peer.expect(terminal.answer());
    }
    await terminal.deliver(line, "06d1 01 81", "060f00");
    expect(await paying).toEqual({ end: "completed", ticket: "Bele|Bele" });
    expect(observer.happened).toEqual(["report 00", "acknowledged"]);
  });

  test("show that a late answer is not the answer to the next command", async () => {
    const { driver, terminal } = await begin(makePeer);
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await terminal.command("0601");
    const accepted = terminal.last;
    await terminal.deliver("061e 01 6c");
    expect(await paying).toMatchObject({ end: "aborted" });
    const checking = driver.terminal.check(never);
    await terminal.peer.expect(/^0501/);
    terminal.peer.send(terminal.answer("8483", accepted));
    terminal.next("");
    terminal.peer.send(terminal.answer());
    await terminal.deliver(ready);
    expect(await checking).toMatchObject({ cr: "0" });
    expect(driver.events).toContainEqual({
      type: "protocol",
      text: `the terminal answered message 00000${accepted} too late: negative-acknowledgement`,
    });
  });
});

test("a cancel has a number of its own, by which its answer is recognised", async () => {
  const { driver, terminal } = await begin(tcpPeer);
  const { peer } = terminal;
  const paying = driver.terminal.pay(tenEuro, new Observer());
  await terminal.command("0601");
  const accepted = terminal.last;
  const cancelling = driver.terminal.cancel();
  await peer.expect(new RegExp(`^06b0.*${tagOf(accepted + 1)}$`));
  // The payment's own answer once more, which is not the answer to the cancel.
  peer.send(terminal.answer("8000", accepted), terminal.answer("8483", accepted + 1));
  expect(await cancelling).toMatchObject({ answer: "refused", code: "83" });
  terminal.next("");
  await terminal.deliver(goodSale, "060f00");
  expect(await paying).toMatchObject({ end: "completed" });
});

describe("a terminal that does not number its messages", () => {
  test("gets none when it does not echo the tag", async () => {
    const { peer, driver } = await connect(tcpPeer, {}, async (at) => {
      await register(at, "");
      await at.expect("0501050000000306");
      at.send("800000");
      await at.deliver(statusCompletion());
      await at.expect("0620050000000303");
      at.send("800000");
      await at.deliver(goodSale, "060f00");
    });
    const paying = driver.terminal.pay(tenEuro, new Observer());
    expect(await peer.next()).not.toContain("1f73");
    peer.send("84b100");
    await peer.expect("0501050000000306");
    peer.send("800000");
    await peer.deliver(statusCompletion());
    expect(await paying).toMatchObject({ end: "refused" });
  });

  test("that echoes the tag and then omits it gets answers without numbers", async () => {
    const { driver, terminal } = await begin(tcpPeer);
    const { peer } = terminal;
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    peer.send("800000");
    await peer.deliver(goodSale, "060f00");
    expect(await paying).toMatchObject({ end: "completed" });
  });

  test("that always sends the same number gets each message passed on", async () => {
    const { driver, terminal } = await begin(tcpPeer);
    const { peer } = terminal;
    const observer = new Observer();
    const paying = driver.terminal.pay(tenEuro, observer);
    await terminal.command("0601");
    for (const apdu of ["04ff 01 0a", goodSale, line, line, "06d1 01 81", "060f00"]) {
      peer.send(numbered(apdu, 7));
      await peer.expect(terminal.answer("8000", 7));
    }
    expect(await paying).toEqual({ end: "completed", ticket: "Bele|Bele" });
  });

  test("that counts from the start again for every command gets its answers", async () => {
    const { driver, terminal } = await begin(tcpPeer);
    const { peer } = terminal;
    for (let i = 0; i < 2; i++) {
      const checking = driver.terminal.check(never);
      const id = Number(/(\d{6})$/.exec(await peer.next())?.[1]);
      peer.send(numbered("800000", id));
      peer.send(numbered(ready, 1));
      await peer.expect(terminal.answer("8000", 1));
      expect(await checking).toMatchObject({ cr: "0" });
    }
  });

  test("that refuses the tag is registered without it", async () => {
    await connect(tcpPeer, {}, async (peer) => {
      await peer.expect(/1f7303000000$/);
      peer.send("849a00");
      const again = await peer.next();
      expect(again).toMatch(/^0600/);
      expect(again).not.toContain("1f73");
      peer.send("800000");
      await peer.deliver(`060f0a191029${terminalId}490978`);
      await peer.expect("0501050000000306");
      peer.send("800000");
      await peer.deliver(statusCompletion());
      await peer.expect("0620050000000303");
      peer.send("800000");
      await peer.deliver("060f00");
    });
  });
});

test("a sale that waits for its goods repeats its report under the same number", async () => {
  const { driver, terminal } = await begin(tcpPeer);
  const { peer } = terminal;
  const observer = new Observer();
  observer.report = () => "hold";
  const order = { ...tenEuro, goodsWindowSeconds: 4 };
  const paying = driver.terminal.pay(order, observer);
  await terminal.command("0601");
  const report = terminal.next(goodSale);
  peer.send(report);
  await peer.expect(terminal.answer("849c"));
  peer.send(report);
  await peer.expect(terminal.answer("849c"));
  driver.terminal.decideGoods?.({ goods: "issued" });
  peer.send(report);
  await peer.expect(terminal.answer());
  await terminal.deliver("060f00");
  expect(await paying).toMatchObject({ end: "completed" });
  expect(patientTimers.t4Ms).toBeGreaterThan(4_000);
});
