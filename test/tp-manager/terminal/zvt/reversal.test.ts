import { describe, expect, test } from "vitest";
import type { PaymentEnd } from "../../../../src/tp-manager/terminal/terminal.ts";
import { bothLines, connect } from "./connected-driver.ts";
import { type Driver, Observer, tenEuro } from "./driver.ts";
import { tcpPeer, withLength } from "./peer.ts";

const command = "063010 000000 870042 04000000001000 490978".replaceAll(" ", "");
const reversed = withLength(
  "040f00 2700 04000000001000 490978 0b000043 370000420c101504 0d0115 2952523535 870043",
);

function reverse(driver: Driver, observer: Observer): Promise<PaymentEnd> | undefined {
  return driver.terminal.reverse?.({ ...tenEuro, receiptNumber: "0042" }, observer);
}

describe.each(bothLines)("a reversal over %s", (_kind, makePeer) => {
  test("sends receipt and amount, and reports the trace that was reversed", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    const reversing = reverse(driver, observer);
    await peer.expect(command);
    peer.send("800000");
    await peer.deliver(reversed, withLength("06d1000053746f726e6f"), "06d10181", "060f00");
    expect(await reversing).toEqual({ end: "completed", ticket: "Storno" });
    expect(observer.reports).toMatchObject([
      { good: true, amountMinor: 1000, traceNumber: "000043", originalTrace: "000042" },
    ]);
    expect(observer.happened).toEqual(["report 00", "acknowledged"]);
  });

  test("that prints before its report is completed", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    const reversing = reverse(driver, observer);
    await peer.expect(command);
    peer.send("800000");
    await peer.deliver(withLength("06d300 060d 250b 070653746f726e6f 090181"), reversed, "060f00");
    expect(await reversing).toEqual({ end: "completed", ticket: "Storno" });
    expect(observer.happened).toEqual(["report 00", "acknowledged"]);
  });

  test("of a sale that the terminal cannot reverse ends with its code", async () => {
    const { peer, driver } = await connect(makePeer);
    const reversing = reverse(driver, new Observer());
    await peer.expect(command);
    peer.send("800000");
    await peer.deliver("061e01b5");
    expect(await reversing).toMatchObject({ end: "aborted", code: "B5", reason: "declined" });
  });

  test("whose line breaks is lost and never sent again", async () => {
    const { peer, driver } = await connect(makePeer);
    const reversing = reverse(driver, new Observer());
    await peer.expect(command);
    peer.send("800000");
    peer.drop();
    expect(await reversing).toMatchObject({ end: "lost" });
    expect(peer.log.filter((apdu) => apdu.startsWith("0630"))).toHaveLength(1);
  });
});

test("a reversal without a usable receipt number is not sent", async () => {
  const { peer, driver } = await connect(tcpPeer);
  const order = { ...tenEuro, receiptNumber: "12345" };
  const end = await driver.terminal.reverse?.(order, new Observer());
  expect(end).toMatchObject({ end: "not-sent", code: "invalid" });
  expect(peer.log.filter((apdu) => apdu.startsWith("0630"))).toEqual([]);
});
