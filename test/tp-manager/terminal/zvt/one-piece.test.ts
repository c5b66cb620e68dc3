import { expect, onTestFinished, test } from "vitest";
import { encodeFrame } from "../../../../src/tp-manager/terminal/zvt/link/serial-frame.ts";
import { fromHex, toHex } from "../../../../src/zvt/index.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { Driver, Observer, patientTimers, tenEuro } from "./driver.ts";
import { introduce, serialPeer, withLength } from "./peer.ts";

const report = withLength("040f00 2700 04000000000999 490978 0b000007 870007 0d0114");

test("a message in one piece with the awaited ACK is answered before the enquiry", async () => {
  const peer = await serialPeer();
  const clock = new TestClock();
  const driver = new Driver(peer.transport, { silenceMs: 300 }, clock);
  onTestFinished(async () => {
    await driver.terminal.close();
    await peer.close();
  });
  driver.terminal.start();
  await introduce(peer);
  await driver.connected();
  const paying = driver.terminal.pay(tenEuro, new Observer());
  await peer.expect(/^0601/);
  await expect.poll(() => clock.running).toContain("zvt t3");
  await clock.advance(patientTimers.t3Ms);
  expect(await paying).toMatchObject({ end: "lost" });
  await expect.poll(() => clock.running).toContain("zvt reconnect");
  await clock.advance(20);
  await expect.poll(() => clock.running).toContain("zvt silence");

  // The enquiry waits for the ACK of the answer to a late report.
  peer.sendsAck = false;
  peer.send(report);
  await peer.expect("846600");
  await clock.advance(300);
  peer.sendRaw(`06${toHex(encodeFrame(fromHex("04ff010a")))}`);
  await peer.expect("800000");
  peer.sendsAck = true;
  peer.sendRaw("06");
  await peer.expect("0501050000000306");
});
