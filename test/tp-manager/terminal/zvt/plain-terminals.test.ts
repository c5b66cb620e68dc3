import { describe, expect, test } from "vitest";
import { bothLines, connect, goodSale } from "./connected-driver.ts";
import { never, Observer, tenEuro } from "./driver.ts";
import { introduce, type Peer, terminalId, withLength } from "./peer.ts";

const tcp = bothLines[0][1];
const container = "0501050000000306";
const plain = "050103000000";
/** Only version 1.0 and the status byte (docs/zvt.md 6.5). */
const ready = withLength("060f00 f0f0f3 312e30 00");
const registered = `060f 0a 1910 29${terminalId} 490978`;

async function registers(peer: Peer): Promise<void> {
  await peer.expect(/^0600/);
  peer.send("800000");
  await peer.deliver(registered);
}

async function repeats(peer: Peer, ...replies: string[]): Promise<void> {
  await peer.expect("062005 000000 0303");
  peer.send("800000");
  await peer.deliver(...replies);
}

async function plainStatus(peer: Peer, completion = ready): Promise<void> {
  await peer.expect(plain);
  peer.send("800000");
  await peer.deliver(completion);
}

describe.each(["848300", "849a00", "061e0183"])("a status enquiry that is answered %s", (no) => {
  async function refuses(peer: Peer): Promise<void> {
    await peer.expect(container);
    if (no.startsWith("84")) {
      peer.send(no);
      return;
    }
    peer.send("800000");
    await peer.deliver(no);
  }

  async function introduced(peer: Peer): Promise<void> {
    await registers(peer);
    await refuses(peer);
    await plainStatus(peer);
    await repeats(peer, goodSale, "060f00");
  }

  test("is repeated in its plain form, now and from then on", async () => {
    const { peer, driver } = await connect(tcp, {}, introduced);
    expect(driver.terminal.state).toMatchObject({
      identity: { version: "1.0", terminalId },
      status: { cr: "0", detail: "00 ready" },
    });
    const looking = driver.terminal.lastTransaction(never);
    await plainStatus(peer);
    await repeats(peer, goodSale, "060f00");
    expect(await looking).toMatchObject({ kind: "transaction" });
    const checked = driver.terminal.check(never);
    await plainStatus(peer, withLength("060f00 f0f0f3 312e30 f0"));
    expect(await checked).toMatchObject({ cr: "2", call: "1" });
  });

  test("shows in its plain form that a refused payment does not run", async () => {
    const { peer, driver } = await connect(tcp, {}, introduced);
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    peer.send("84b100");
    await plainStatus(peer);
    expect(await paying).toMatchObject({ end: "refused", code: "B1" });
  });
});

describe("a registration that the terminal does not understand", () => {
  const bare = "060006 000000 be 0978";
  const barest = "060004 000000 be";

  test.each([
    ["the currency", [bare], "848300"],
    ["not even a currency", [bare, barest], "849a00"],
  ])("is repeated with fewer fields, in the end with %s", async (_name, forms, no) => {
    const play = async (peer: Peer): Promise<void> => {
      await peer.expect(/^0600.*1f7303000000$/);
      peer.send(no);
      await peer.expect(/^0600.*1f0401c0$/);
      peer.send(no);
      for (const form of forms) {
        await peer.expect(form);
        peer.send(form === forms.at(-1) ? "800000" : no);
      }
      await peer.deliver(registered);
      await peer.expect(container);
      peer.send("800000");
      await peer.deliver(ready);
      await repeats(peer, goodSale, "060f00");
    };
    const { driver } = await connect(tcp, {}, play);
    expect(driver.terminal.state).toMatchObject({ link: "connected", status: { cr: "0" } });
  });
});

test("no tip is asked for, and an amount with a tip is reported as it is", async () => {
  const { peer, driver } = await connect(tcp);
  const observer = new Observer();
  observer.verdict = () => "refuse";
  const paying = driver.terminal.pay(tenEuro, observer);
  const command = await peer.expect(/^0601/);
  const [, paymentType = ""] = /1000490978 ?19(..)/.exec(command) ?? [];
  expect(Number.parseInt(paymentType, 16) & 0x08).toBe(0);
  expect(command).not.toContain("1f36");
  peer.send("800000");
  peer.send(withLength("040f00 2700 04000000001100 490978 0b000043 06 07 1f3604 00000100"));
  await peer.expect("846600");
  await peer.deliver("061e0166");
  expect(await paying).toMatchObject({ end: "aborted" });
  expect(observer.reports).toMatchObject([{ good: true, amountMinor: 1_100 }]);
});

describe("a refusal", () => {
  test("of a payment with 84 9C means busy", async () => {
    const { peer, driver } = await connect(tcp);
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    peer.send("849c00");
    await peer.expect(container);
    peer.send("800000");
    await peer.deliver(ready);
    expect(await paying).toMatchObject({ end: "refused", code: "9C", reason: "busy" });
  });

  test.each([
    ["51", "initialisation needed"],
    ["62", "clock not set"],
  ])("by 06 1E %s without a result is a lock and no decline", async (code, expected) => {
    const { peer, driver } = await connect(tcp);
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    peer.send("800000");
    await peer.deliver(`061e01${code}`);
    expect(await paying).toMatchObject({
      end: "aborted",
      text: expected,
      reason: "terminal-fault",
    });
  });

  test("by 06 1E 51 after the bank's result 51 is a decline of the bank", async () => {
    const { peer, driver } = await connect(tcp);
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    peer.send("800000");
    await peer.deliver(withLength("040f00 2751 04000000001000"), "061e0151");
    expect(await paying).toMatchObject({ end: "aborted", reason: "declined" });
  });

  test("to repeat the last transaction names the lock too", async () => {
    const { peer, driver } = await connect(tcp);
    const looking = driver.terminal.lastTransaction(never);
    await peer.expect(container);
    peer.send("800000");
    await peer.deliver(ready);
    await repeats(peer, "061e0151");
    expect(await looking).toMatchObject({
      kind: "not-told",
      why: expect.stringContaining("initialisation needed"),
    });
  });
});

const group = (count: string, sum: string): string => `${count}${sum.padStart(12, "0")}`;
/** Field 60 of 53 bytes: receipt range, then seven counts with their sums. */
function totals(first: string, last: string, count = "00", sum = "0"): string {
  const groups = [group(count, sum), ...Array.from({ length: 6 }, () => group("00", "0"))];
  return withLength(
    `040f00 2700 04${sum.padStart(12, "0")} 60f0f5f3 ${first}${last}${groups.join("")}`,
  );
}

describe("a terminal that has nothing to repeat (docs/zvt.md 9.2)", () => {
  const nothing: Array<[string, string[]]> = [
    ["06 1E 83", ["061e0183"]],
    ["06 1E 64", ["061e0164"]],
    ["04 0F 27 64 and 06 0F", [withLength("040f00 2764"), "060f00"]],
    ["04 0F 27 64 and 06 1E", [withLength("040f00 2764"), "061e0164"]],
  ];

  async function answersTotals(peer: Peer, ...replies: string[]): Promise<void> {
    await peer.expect("061003 000000");
    peer.send("800000");
    await peer.deliver(...replies);
  }

  test.each(nothing)("and says so with %s is empty when its totals are empty", async (_n, says) => {
    const play = async (peer: Peer): Promise<void> => {
      await registers(peer);
      await peer.expect(container);
      peer.send("800000");
      await peer.deliver(ready);
      await repeats(peer, ...says);
      await answersTotals(peer, totals("0000", "0000"), "060f00");
    };
    const { peer, driver } = await connect(tcp, {}, play);
    const preparing = driver.terminal.prepare(never);
    await repeats(peer, ...says);
    await answersTotals(peer, totals("0000", "0000"), "060f00");
    expect((await preparing).last).toEqual({ kind: "none" });
  });

  const notProven: Array<[string, string[]]> = [
    ["name a sale", [totals("0001", "0001", "01", "1000"), "060f00"]],
    ["are not reported", ["060f00"]],
    ["are a sum without counts", [withLength("040f00 2700 04000000000000"), "060f00"]],
    ["are refused", ["061e0183"]],
  ];
  test.each(notProven)("is not empty when its totals %s", async (_name, replies) => {
    const play = async (peer: Peer): Promise<void> => {
      await introduce(peer, [goodSale]);
    };
    const { peer, driver } = await connect(tcp, {}, play);
    const preparing = driver.terminal.prepare(never);
    await repeats(peer, "061e0183");
    await answersTotals(peer, ...replies);
    expect((await preparing).last).toMatchObject({ kind: "not-told" });
  });

  test("that shows its last transaction is asked for no totals", async () => {
    const { peer, driver } = await connect(tcp);
    const preparing = driver.terminal.prepare(never);
    await repeats(peer, goodSale, "060f00");
    expect((await preparing).last).toMatchObject({ kind: "transaction" });
    expect(peer.pending).toEqual([]);
  });

  test("that does not know the command to repeat is not asked for totals", async () => {
    const { peer, driver } = await connect(tcp);
    const preparing = driver.terminal.prepare(never);
    await peer.expect("062005 000000 0303");
    peer.send("848300");
    expect((await preparing).last).toMatchObject({ kind: "not-told" });
  });
});
