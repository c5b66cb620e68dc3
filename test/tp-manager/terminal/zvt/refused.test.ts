import { describe, expect, test } from "vitest";
import type { PaymentEnd } from "../../../../src/tp-manager/terminal/terminal.ts";
import { bothLines, connect, goodSale } from "./connected-driver.ts";
import { type Driver, never, Observer, patientTimers, tenEuro } from "./driver.ts";
import { type Peer, statusCompletion } from "./peer.ts";

const enquiry = "0501050000000306";
const payCommand = /^0601/;

/** Ready, and nothing runs. */
async function status(peer: Peer): Promise<void> {
  await peer.expect(enquiry);
  peer.send("800000");
  await peer.deliver(statusCompletion());
}

function pay(driver: Driver, observer: Observer): Promise<PaymentEnd> {
  return driver.terminal.pay(tenEuro, observer);
}

describe.each(bothLines)("a payment over %s", (_kind, makePeer) => {
  test("that is refused while the terminal goes on with it is lost", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    const paying = pay(driver, observer);
    await peer.expect(payCommand);
    // Out of nowhere (docs/zvt.md 12.6); then the answer to the command, and the payment.
    peer.send("841e017d");
    await peer.expect(enquiry);
    peer.send("800000");
    await peer.deliver("04ff010a");
    peer.send(goodSale);
    await peer.expect("846600");
    await peer.deliver("061e0166");
    await status(peer);
    expect(await paying).toMatchObject({ end: "lost", code: "unjudged" });
    expect(observer.reports).toEqual([]);
    expect(driver.events).toContainEqual(expect.objectContaining({ type: "unmatched-report" }));
  });

  test("that is refused and then ends as good, with nothing reported, is lost", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("841e017d");
    await peer.expect(enquiry);
    peer.send("800000");
    // The end of the payment: a status enquiry ends with a status.
    await peer.deliver("060f00");
    await Promise.race([status(peer), paying]);
    expect(await paying).toMatchObject({ end: "lost" });
  });

  test("that is refused by a terminal that then says nothing is lost", async () => {
    const { peer, driver } = await connect(makePeer, { timers: { ...patientTimers, t3Ms: 300 } });
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("84b100");
    await peer.expect(enquiry);
    expect(await paying).toMatchObject({ end: "lost" });
  });

  test("that is refused by a busy terminal is refused once that is idle again", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("849c00");
    await peer.expect(enquiry);
    peer.send("849c00");
    await status(peer);
    expect(await paying).toMatchObject({ end: "refused", code: "9C" });
  });

  test("that is refused by a terminal that stays busy is lost", async () => {
    const { peer, driver } = await connect(makePeer, { refusalCheckMs: 500 });
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("849c00");
    await peer.expect(enquiry);
    peer.send("849c00");
    expect(await paying).toMatchObject({ end: "lost" });
  });

  test("that is refused for want of a registration is refused", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("846b00");
    await peer.expect(enquiry);
    peer.send("846b00");
    expect(await paying).toMatchObject({ end: "refused", code: "6B" });
  });

  test("that is cancelled while it waits for the wire never leaves", async () => {
    const { peer, driver } = await connect(makePeer);
    const checking = driver.terminal.check(never);
    await peer.expect(enquiry);
    const paying = pay(driver, new Observer());
    expect(await driver.terminal.cancel()).toEqual({ answer: "taken" });
    expect(await paying).toMatchObject({ end: "withdrawn" });
    peer.send("800000");
    await peer.deliver(statusCompletion());
    await checking;
    expect(await driver.terminal.cancel()).toEqual({ answer: "nothing-running" });
    expect(peer.log.filter((apdu) => apdu.startsWith("0601"))).toEqual([]);
  });

  test("that is cancelled before the terminal took it is aborted as soon as it has", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    const cancelling = driver.terminal.cancel();
    peer.send("800000");
    await peer.expect("06b000");
    peer.send("800000");
    expect(await cancelling).toEqual({ answer: "taken" });
    await peer.deliver("061e016c");
    expect(await paying).toMatchObject({ end: "aborted", reason: "cancelled" });
  });
});
