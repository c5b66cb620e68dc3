import { describe, expect, test } from "vitest";
import type { TelecollectionEnd } from "../../../../src/tp-manager/terminal/terminal.ts";
import { bothLines, connect, goodSale } from "./connected-driver.ts";
import { type Driver, never } from "./driver.ts";
import {
  introduce,
  type Peer,
  repeatReceipt,
  statusCompletion,
  tcpPeer,
  terminalId,
  withLength,
} from "./peer.ts";

const enquiry = "06230587ffff0600";
const noneOpen = withLength("061e00 b8 87ffff");
const endOfDay = "065003000000";

const empty = "00 000000000000 ";
/** docs/zvt.md 7.1: receipts 41 to 45, three Mastercard payments of 60.00, one of Visa of 5.00. */
const totals =
  `60f0f5f3 0041 0045 ${empty}${empty} 03 000000006000 ${empty} 01 000000000500` +
  ` ${empty}${empty}`;
const settlement = withLength(`040f00 2700 04000000006500 ${totals} 0b000050 0c225500 0d0115`);

function telecollect(driver: Driver): Promise<TelecollectionEnd> | undefined {
  return driver.terminal.telecollect?.(never);
}

async function answerStatus(peer: Peer, completion: string): Promise<void> {
  await peer.expect("0501050000000306");
  peer.send("800000");
  await peer.deliver(completion);
}

/** Plays the terminal until the end of day was sent. */
async function begin(peer: Peer, open = noneOpen): Promise<void> {
  await peer.expect(enquiry);
  peer.send("800000");
  await peer.deliver(open);
  await peer.expect(endOfDay);
}

describe.each(bothLines)("an end of day over %s", (_kind, makePeer) => {
  test("refuses and reports a sale that comes within it, and ends with its totals", async () => {
    const { peer, driver } = await connect(makePeer);
    const ending = telecollect(driver);
    await begin(peer);
    peer.send("800000");
    peer.send(goodSale);
    await peer.expect("846600");
    await peer.deliver(settlement, "060f00");
    expect(await ending).toMatchObject({ end: "completed", totals: { sumMinor: 6500 } });
    const report = expect.objectContaining({ receiptNumber: "0042", amountMinor: 1_000 });
    expect(driver.events).toContainEqual({ type: "unmatched-report", report });
  });

  test("asks for open pre-authorisations, and reports schemes and receipt", async () => {
    const { peer, driver } = await connect(makePeer);
    const ending = telecollect(driver);
    await begin(peer);
    peer.send("800000");
    await peer.deliver(
      "04ff010f",
      settlement,
      withLength("06d1000053756d6d65"),
      "06d10181",
      "060f00",
    );
    expect(await ending).toEqual({
      end: "completed",
      applications: [
        { name: "Mastercard", status: "0", count: 3, sumMinor: 6000 },
        { name: "Visa", status: "0", count: 1, sumMinor: 500 },
      ],
      totals: { receiptFrom: "0041", receiptTo: "0045", count: 4, sumMinor: 6500 },
      ticket: "Summe",
    });
  });

  test("that the terminal had demanded is followed by a status enquiry", async () => {
    const said = statusCompletion("f0");
    const { peer, driver } = await connect(makePeer, {}, async (terminal) => {
      await terminal.expect(/^0600/);
      terminal.send("800000");
      await terminal.deliver(`060f 0a 1910 29${terminalId} 490978`);
      await answerStatus(terminal, said);
      await repeatReceipt(terminal, [goodSale]);
    });
    expect(driver.terminal.state.demands).toEqual(["end-of-day"]);
    const ending = telecollect(driver);
    await begin(peer);
    peer.send("800000");
    await peer.deliver(settlement, "060f00");
    await peer.expect(/^0600/);
    peer.send("800000");
    await peer.deliver(`060f 0a 1910 29${terminalId} 490978`);
    await answerStatus(peer, statusCompletion());
    expect(await ending).toMatchObject({ end: "completed" });
    expect(driver.terminal.state.demands).toEqual([]);
  });

  test("is not begun while pre-authorisations are open, and names them", async () => {
    const { peer, driver } = await connect(makePeer);
    const ending = telecollect(driver);
    await peer.expect(enquiry);
    peer.send("800000");
    await peer.deliver(withLength("061e00 b8 870801 060a 2308 08020802 08024567"));
    expect(await ending).toEqual({
      end: "open-pre-authorisations",
      receiptNumbers: ["0801", "0802", "4567"],
    });
    expect(peer.log).not.toContain(endOfDay);
  });

  test("goes on with a terminal that does not know pre-authorisations", async () => {
    const { peer, driver } = await connect(makePeer);
    const ending = telecollect(driver);
    await peer.expect(enquiry);
    peer.send("848300");
    await peer.expect(endOfDay);
    peer.send("800000");
    await peer.deliver(withLength("040f00 2700 04000000006500"), "060f0227e0");
    expect(await ending).toEqual({
      end: "completed",
      applications: [{ name: "total", status: "0", count: 0, sumMinor: 6500 }],
      ticket: "",
    });
  });

  test("that the terminal cannot complete has failed", async () => {
    const { peer, driver } = await connect(makePeer);
    const ending = telecollect(driver);
    await begin(peer);
    peer.send("800000");
    await peer.deliver("061e0177");
    expect(await ending).toMatchObject({ end: "failed", code: "77" });
  });

  test("that the terminal refuses at once is refused", async () => {
    const { peer, driver } = await connect(makePeer);
    const ending = telecollect(driver);
    await begin(peer);
    peer.send("84cc00");
    expect(await ending).toEqual({ end: "refused", code: "CC", text: "printer not ready" });
  });

  test("whose end does not come is lost, and is not sent again", async () => {
    const { peer, driver } = await connect(makePeer);
    const ending = telecollect(driver);
    await begin(peer);
    peer.send("800000");
    peer.drop();
    expect(await ending).toMatchObject({ end: "lost" });
    expect(peer.log.filter((apdu) => apdu === endOfDay)).toHaveLength(1);
  });
});

test("an end of day is lost when its caller gives up, and the terminal goes on", async () => {
  const { peer, driver } = await connect(tcpPeer);
  const patience = new AbortController();
  const ending = driver.terminal.telecollect?.(patience.signal);
  await begin(peer);
  peer.send("800000");
  patience.abort(new Error("too long"));
  expect(await ending).toEqual({ end: "lost", code: "no-end", text: "too long" });
  await peer.deliver("060f00");
});

test("totals of all cards in the first group are not called girocard", async () => {
  const { peer, driver } = await connect(tcpPeer, { totalsInFirstGroup: true });
  const ending = telecollect(driver);
  await begin(peer);
  peer.send("800000");
  const first = `60f0f5f3 0041 0045 04 000000006500 ${empty.repeat(6)}`;
  await peer.deliver(withLength(`040f00 2700 04000000006500 ${first}`), "060f00");
  expect(await ending).toMatchObject({ applications: [{ name: "total", count: 4 }] });
});

describe("a restart", () => {
  test("waits until the terminal answers, is idle and registered", async () => {
    const { peer, driver } = await connect(tcpPeer);
    const restarting = driver.terminal.reset?.(never);
    await peer.expect("061800");
    peer.send("800000");
    await peer.deliver("060f00");
    await peer.expect("0501050000000306");
    peer.send("800000");
    await peer.deliver(statusCompletion());
    expect(driver.terminal.state.link).not.toBe("connected");
    await introduce(peer, [goodSale]);
    await restarting;
    expect(driver.terminal.state.link).toBe("connected");
  });

  test("that the terminal refuses throws out-of-order and keeps the connection", async () => {
    const { peer, driver } = await connect(tcpPeer);
    const restarting = driver.terminal.reset?.(never);
    await peer.expect("061800");
    peer.send("848300");
    await expect(restarting).rejects.toMatchObject({ reason: "out-of-order" });
    expect(driver.terminal.state.link).toBe("connected");
  });

  test("from which the terminal is not back in time is reported as no answer", async () => {
    const { peer, driver } = await connect(tcpPeer);
    const patience = new AbortController();
    const restarting = driver.terminal.reset?.(patience.signal);
    await peer.expect("061800");
    peer.send("800000");
    await peer.deliver("060f00");
    await driver.until(() => driver.terminal.state.link === "disconnected");
    patience.abort();
    await expect(restarting).rejects.toMatchObject({ reason: "no-answer" });
  });
});
