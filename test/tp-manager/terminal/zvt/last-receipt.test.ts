import { describe, expect, test, vi } from "vitest";
import type { LastTransaction } from "../../../../src/tp-manager/terminal/terminal.ts";
import {
  authorisation,
  namingLastReceipt,
} from "../../../../src/tp-manager/terminal/zvt/commands/commands.ts";
import { encodeApdu, toHex } from "../../../../src/zvt/index.ts";
import { report } from "../../../support/terminals/reports.ts";
import { bothLines, connect, goodSale } from "./connected-driver.ts";
import { type Driver, never, Observer, tenEuro } from "./driver.ts";
import { introduce, type Peer, repeatReceipt, statusCompletion, tcpPeer } from "./peer.ts";

const order = { ...tenEuro, inSync: () => true };
const sending = { sendLastReceipt: true };

async function prepare(driver: Driver, peer: Peer, last = [goodSale]): Promise<void> {
  const preparing = driver.terminal.prepare(never);
  await repeatReceipt(peer, last);
  await preparing;
}

/** The command of a payment, which is then refused. */
async function commandOf(driver: Driver, peer: Peer, given = order): Promise<string> {
  const paying = driver.terminal.pay(given, new Observer());
  const command = await peer.next();
  await refuse(peer, "84b100");
  await paying;
  return command;
}

/** Refuses, and then answers the status enquiry with idle (zvt-terminal.ts). */
async function refuse(peer: Peer, refusal: string): Promise<void> {
  peer.send(refusal);
  await peer.expect(/^0501/);
  peer.send("800000");
  await peer.deliver(statusCompletion());
}

describe.each(bothLines)("the last receipt number (1F1F) over %s", (_kind, makePeer) => {
  test("is sent with a payment when journal and terminal agree", async () => {
    const { peer, driver } = await connect(makePeer, sending);
    await prepare(driver, peer);
    expect(await commandOf(driver, peer)).toMatch(/^060117.*06051f1f020042$/);
  });
});

describe("the last receipt number (1F1F) is left out", () => {
  test("unless ZVT_SEND_LAST_RECEIPT asks for it", async () => {
    const { peer, driver } = await connect(tcpPeer);
    await prepare(driver, peer);
    const inSync = vi.fn(() => true);
    expect(await commandOf(driver, peer, { ...order, inSync })).not.toContain("1f1f");
    // The journal is not read for a number that is not sent.
    expect(inSync).not.toHaveBeenCalled();
  });

  test("while an order is unsettled", async () => {
    const { peer, driver } = await connect(tcpPeer, sending);
    await prepare(driver, peer);
    expect(await commandOf(driver, peer, { ...order, inSync: () => false })).not.toContain("1f1f");
  });

  test("when the last transaction was not read for this very payment", async () => {
    const { peer, driver } = await connect(tcpPeer, sending);
    await prepare(driver, peer);
    expect(await commandOf(driver, peer)).toContain("1f1f020042");
    expect(await commandOf(driver, peer)).not.toContain("1f1f");
  });

  test("when the last transaction was read on another connection", async () => {
    const { peer, driver } = await connect(tcpPeer, sending);
    await prepare(driver, peer);
    peer.drop();
    await introduce(peer, [goodSale]);
    await driver.connected();
    expect(await commandOf(driver, peer)).not.toContain("1f1f");
  });

  test("when the terminal did not show its last transaction", async () => {
    const { peer, driver } = await connect(tcpPeer, sending);
    await prepare(driver, peer, []);
    expect(await commandOf(driver, peer)).not.toContain("1f1f");
  });

  test("from a reversal", async () => {
    const { peer, driver } = await connect(tcpPeer, sending);
    await prepare(driver, peer);
    const reversing = driver.terminal.reverse?.({ ...order, receiptNumber: "42" }, new Observer());
    expect(await peer.next()).not.toContain("1f1f");
    await refuse(peer, "84b400");
    await reversing;
  });
});

describe("the last receipt number in the command", () => {
  const rows: [string, LastTransaction, string | null][] = [
    ["is the number of the last transaction", last({ receiptNumber: "9999" }), "1f1f029999"],
    ["is empty when the terminal reports an empty storage", { kind: "none" }, "1f1f00"],
    ["is never 0000", last({ receiptNumber: "0000" }), null],
    ["is never guessed", last({ receiptNumber: null }), null],
    ["is left out when no last transaction was shown", { kind: "not-told", why: "bare" }, null],
  ];
  test.each(rows)("%s", (_name, before, expected) => {
    const command = authorisation(tenEuro, { printerReady: true });
    const hex = toHex(encodeApdu(namingLastReceipt(command, before).apdu));
    expect(/1f1f.*$/.exec(hex)?.[0] ?? null).toBe(expected);
  });

  function last(change: Parameters<typeof report>[0]): LastTransaction {
    return { kind: "transaction", report: report(change) };
  }
});
