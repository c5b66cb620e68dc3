import { describe, expect, test } from "vitest";
import { asSlow } from "../../../support/clocks/patience.ts";
import { bothLines, connect } from "./connected-driver.ts";
import { Observer, tenEuro } from "./driver.ts";
import { tcpPeer } from "./peer.ts";

const loggingOff = { logOffOnClose: true };

describe.each(bothLines)("Log-Off over %s", (_kind, makePeer) => {
  test("is sent to an idle terminal when the driver is closed, if so configured", async () => {
    const { peer, driver } = await connect(makePeer, loggingOff);
    const closing = driver.terminal.close();
    await peer.expect("060200");
    peer.send("800000");
    await closing;
  });
});

describe("Log-Off", () => {
  test("holds nobody up when the terminal says nothing", async () => {
    const { peer, driver } = await connect(tcpPeer, loggingOff);
    const startedMs = performance.now();
    const closing = driver.terminal.close();
    await peer.expect("060200");
    await closing;
    expect(performance.now() - startedMs).toBeLessThan(asSlow(2_000));
  });

  test("is not sent unless configured: the keys would be given back", async () => {
    const { peer, driver } = await connect(tcpPeer);
    await driver.terminal.close();
    expect(peer.log.filter((apdu) => apdu.startsWith("0602"))).toEqual([]);
  });

  test("is not sent while a payment runs", async () => {
    const { peer, driver } = await connect(tcpPeer, loggingOff);
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    peer.send("800000");
    await driver.terminal.close();
    expect(await paying).toMatchObject({ end: "lost" });
    expect(peer.log.filter((apdu) => apdu.startsWith("0602"))).toEqual([]);
  });

  test("is not sent while something on the terminal is in doubt", async () => {
    const { peer, driver } = await connect(tcpPeer, loggingOff);
    driver.terminal.keepEvidence(true);
    await driver.terminal.close();
    expect(peer.log.filter((apdu) => apdu.startsWith("0602"))).toEqual([]);
  });
});
