import { describe, expect, test } from "vitest";
import type { PaymentEnd } from "../../../../src/tp-manager/terminal/terminal.ts";
import { bothLines, connect, goodSale } from "./connected-driver.ts";
import { type Driver, Observer, tenEuro } from "./driver.ts";
import { type Peer, repeatReceipt, tcpPeer, withLength } from "./peer.ts";

/** The window for goods; each 04 0F stays unanswered for a quarter of it. */
const windowSeconds = 4;
const payCommand = "060110 04000000001000 490978 1944 0104 0203";
const givenUp = withLength("040f00 276c 2952523535");

class GoodsObserver extends Observer {
  readonly held = Promise.withResolvers<void>();

  override report(report: Parameters<Observer["report"]>[0]): "accept" | "refuse" | "hold" {
    const verdict = super.report(report);
    if (!report.good || this.reports.length > 1) return verdict;
    this.held.resolve();
    return "hold";
  }
}

/** Runs a sale until its 04 0F waits for the decision about the goods. */
async function hold(
  peer: Peer,
  driver: Driver,
): Promise<{ observer: GoodsObserver; paying: Promise<PaymentEnd> }> {
  const observer = new GoodsObserver();
  const paying = driver.terminal.pay({ ...tenEuro, goodsWindowSeconds: windowSeconds }, observer);
  await peer.expect(payCommand);
  peer.send("800000");
  peer.send(goodSale);
  await observer.held.promise;
  return { observer, paying };
}

describe.each(bothLines)("a two-phase sale over %s", (_kind, makePeer) => {
  test("gets its ACK when the goods came out, and not before", async () => {
    const { peer, driver } = await connect(makePeer);
    const { observer, paying } = await hold(peer, driver);
    expect(peer.pending).toEqual([]);
    driver.terminal.decideGoods?.({ goods: "issued" });
    await peer.expect("800000");
    await peer.deliver("060f00");
    expect(await paying).toMatchObject({ end: "completed" });
    expect(observer.happened).toEqual(["report 00", "acknowledged"]);
  });

  test("is refused when the goods did not come out, and the reversal is reported", async () => {
    const { peer, driver } = await connect(makePeer);
    const { observer, paying } = await hold(peer, driver);
    driver.terminal.decideGoods?.({ goods: "not-issued" });
    await peer.expect("846600");
    await peer.deliver(givenUp, "061e016c");
    expect(await paying).toMatchObject({ end: "aborted", code: "6C" });
    expect(observer.happened).toEqual(["report 00", "report 6C"]);
  });

  test("whose goods came out in part is answered with the part, and then read again", async () => {
    const { peer, driver } = await connect(makePeer);
    const { observer, paying } = await hold(peer, driver);
    driver.terminal.decideGoods?.({ goods: "partly-issued", amountMinor: 400 });
    await peer.expect("849d07 04 000000000400".replaceAll(" ", ""));
    await peer.deliver("060f00");
    await repeatReceipt(peer, [goodSale.replace("04000000001000", "04000000000400")]);
    expect(await paying).toMatchObject({ end: "completed" });
    expect(observer.reports.map(({ amountMinor }) => amountMinor)).toEqual([1000, 400]);
  });

  test("repeats its report until the decision comes, and is reported once", async () => {
    const { peer, driver } = await connect(makePeer);
    const { observer, paying } = await hold(peer, driver);
    await peer.expect("849c00");
    peer.send(goodSale);
    await peer.expect("849c00");
    // The decision comes between two repeats, and the next repeat is answered with it.
    driver.terminal.decideGoods?.({ goods: "issued" });
    await peer.deliver(goodSale, "060f00");
    expect(await paying).toMatchObject({ end: "completed" });
    expect(observer.happened).toEqual(["report 00", "acknowledged"]);
  });

  test("whose decision was lost gets the decision again", async () => {
    const { peer, driver } = await connect(makePeer);
    const { observer, paying } = await hold(peer, driver);
    driver.terminal.decideGoods?.({ goods: "not-issued" });
    await peer.expect("846600");
    peer.send(goodSale);
    await peer.expect("846600");
    await peer.deliver("061e016c");
    expect(await paying).toMatchObject({ end: "aborted" });
    expect(observer.reports).toHaveLength(1);
  });

  test("is lost when the line breaks while the sale waits", async () => {
    const { peer, driver } = await connect(makePeer);
    const { paying } = await hold(peer, driver);
    peer.drop();
    expect(await paying).toMatchObject({ end: "lost" });
    expect(() => driver.terminal.decideGoods?.({ goods: "issued" })).toThrow();
  });
});

test("an undecided sale sends 84 9C no more often than the strictest terminal allows", async () => {
  const { peer, driver } = await connect(tcpPeer);
  const { observer, paying } = await hold(peer, driver);
  for (let asked = 0; asked < 3; asked++) {
    await peer.expect("849c00");
    peer.send(goodSale);
  }
  await peer.deliver(givenUp, "061e016c");
  expect(await paying).toMatchObject({ end: "aborted", code: "6C" });
  expect(observer.happened).toEqual(["report 00", "report 6C"]);
  expect(peer.log.filter((apdu) => apdu === "849c00")).toHaveLength(3);
});

test("a second good report while the goods are undecided gets no ACK either", async () => {
  const { peer, driver } = await connect(tcpPeer);
  const { observer, paying } = await hold(peer, driver);
  peer.send(goodSale.replace("0b000042", "0b000043"));
  while (observer.reports.length < 2) await new Promise((done) => setImmediate(done));
  expect(peer.pending).toEqual([]);
  driver.terminal.decideGoods?.({ goods: "issued" });
  await peer.expect("800000");
  await peer.deliver("060f00");
  expect(await paying).toMatchObject({ end: "completed" });
});

test("a cancel of a sale that waits for its goods sends no abort", async () => {
  const { peer, driver } = await connect(tcpPeer);
  const { paying } = await hold(peer, driver);
  expect(await driver.terminal.cancel()).toMatchObject({ answer: "refused" });
  driver.terminal.decideGoods?.({ goods: "not-issued" });
  await peer.expect("846600");
  await peer.deliver("061e016c");
  expect(await paying).toMatchObject({ end: "aborted" });
  expect(peer.log).not.toContain("06b000");
});

test("a report is refused when it should wait without a window for goods", async () => {
  const { peer, driver } = await connect(tcpPeer);
  const paying = driver.terminal.pay(tenEuro, new GoodsObserver());
  await peer.expect(/^0601/);
  peer.send("800000", goodSale);
  await peer.expect("846600");
  await peer.deliver("061e0166");
  expect(await paying).toMatchObject({ end: "aborted" });
});

test.each([0, 256, 1.5])("a goods window of %s seconds is not sent", async (goodsWindowSeconds) => {
  const { peer, driver } = await connect(tcpPeer);
  const end = await driver.terminal.pay({ ...tenEuro, goodsWindowSeconds }, new Observer());
  expect(end).toMatchObject({ end: "not-sent", code: "invalid" });
  expect(peer.log.filter((apdu) => apdu.startsWith("0601"))).toEqual([]);
});

test("the terminal's vending mode is known from its registration", async () => {
  const { driver } = await connect(tcpPeer);
  expect(driver.terminal.capabilities.vending).toBe(true);
});
