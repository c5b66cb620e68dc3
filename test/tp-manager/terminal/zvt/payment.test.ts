import { afterEach, describe, expect, test } from "vitest";
import type { PaymentEnd } from "../../../../src/tp-manager/terminal/terminal.ts";
import type { ZvtOptions } from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { Driver, never, Observer, patientTimers, tenEuro } from "./driver.ts";
import {
  introduce,
  type Peer,
  repeatReceipt,
  serialPeer,
  statusCompletion,
  tcpPeer,
  withLength,
} from "./peer.ts";

// Field 01 depends on the timers: answerSeconds in commands.ts.
const authorisation = "060115 04000000001000 490978 1944 01.. 0203".replaceAll(" ", "");
const payCommand = new RegExp(`^0601..${authorisation.slice(6)}$`);
const approved =
  "040f 31 2700 04000000001000 490978 0b000042 0c101503 0d0115 2952523535 870042 " +
  "22f0f8eeeeeeeeeeee4771 8a06".replaceAll(" ", "");
const good = withLength(approved);
const declined = withLength("040f00 2705 2952523535");

const open: { peer: Peer; driver: Driver }[] = [];

afterEach(async () => {
  for (const { peer, driver } of open.splice(0)) {
    await driver.terminal.close();
    await peer.close();
  }
});

async function connect(
  makePeer: () => Promise<Peer>,
  options: Partial<ZvtOptions> = {},
): Promise<{ peer: Peer; driver: Driver }> {
  const peer = await makePeer();
  const driver = new Driver(peer.transport, options);
  open.push({ peer, driver });
  driver.terminal.start();
  await introduce(peer, [good]);
  await driver.connected();
  return { peer, driver };
}

const enquiry = "0501050000000306";

/** Answers the status enquiry with ready and idle. */
async function status(peer: Peer): Promise<void> {
  await peer.expect(enquiry);
  peer.send("800000");
  await peer.deliver(statusCompletion());
}

function pay(driver: Driver, observer: Observer): Promise<PaymentEnd> {
  return driver.terminal.pay(tenEuro, observer);
}

describe.each([
  ["tcp", tcpPeer],
  ["serial", serialPeer],
] as const)("a payment over %s", (_kind, makePeer) => {
  test("is reported, gets its ACK and is completed, with prompts and a ticket", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    const paying = pay(driver, observer);
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver("04ff020a03", "04ff010e", good);
    await peer.deliver(
      withLength("06d1004042656c65672030303432"),
      "06d10140",
      "06d10140",
      "06d10181",
      "060f00",
    );
    expect(await paying).toEqual({ end: "completed", ticket: "Beleg 0042" });
    expect(observer.happened).toEqual(["prompt 0A", "prompt 0E", "report 00", "acknowledged"]);
    expect(observer.prompts[0]).toEqual({
      code: "0A",
      text: "Insert your card",
      language: "en",
      texts: {
        en: "Insert your card",
        fr: "Insérez votre carte",
        de: "Karte einstecken",
        it: "Inserire la carta",
        es: "Inserte su tarjeta",
      },
    });
    expect(observer.reports[0]).toMatchObject({
      good: true,
      resultCode: "00",
      amountMinor: 1000,
      currencyNumeric: "978",
      receiptNumber: "0042",
      traceNumber: "000042",
      terminalId: "52523535",
      localDate: "0115",
      localTime: "101503",
    });
    const preparing = driver.terminal.prepare(never);
    await repeatReceipt(peer, [good]);
    expect(await preparing).toMatchObject({ last: { report: { receiptNumber: "0042" } } });
    // On a serial line our last answer still waits for its ACK.
    while (driver.terminal.state.busy) await new Promise((resolve) => setImmediate(resolve));
  });

  test("that is declined ends with the terminal's abort and its code", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    const paying = pay(driver, observer);
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver(declined, "061e0105");
    expect(await paying).toMatchObject({ end: "aborted", code: "05", reason: "declined" });
    expect(observer.reports[0]).toMatchObject({ good: false, resultCode: "05" });
  });

  test("that the terminal refuses at once is refused", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("84b100");
    await status(peer);
    const reason = "terminal-fault";
    expect(await paying).toEqual({ end: "refused", code: "B1", text: "memory full", reason });
  });

  test("whose report is refused gets 84 66, and ends as the terminal ends it", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    observer.verdict = () => "refuse";
    const paying = pay(driver, observer);
    await peer.expect(payCommand);
    peer.send("800000", good);
    await peer.expect("846600");
    await peer.deliver("061e0166");
    expect(await paying).toMatchObject({ end: "aborted", code: "66" });
    expect(observer.happened).toEqual(["report 00"]);
  });

  test("whose report cannot be stored gets 84 66, and is lost whatever end follows", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    observer.verdict = () => {
      throw new Error("disk full");
    };
    const paying = pay(driver, observer);
    await peer.expect(payCommand);
    peer.send("800000", good);
    await peer.expect("846600");
    await peer.deliver("061e0166");
    expect(await paying).toMatchObject({ end: "lost", code: "unjudged" });
    expect(driver.logged.join("\n")).toContain("could not be stored");
  });

  test("with a good report after a wrong PIN that could not be stored is lost", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    observer.verdict = ({ resultCode }) => {
      if (resultCode === "00") throw new Error("disk full");
      return "accept";
    };
    const paying = pay(driver, observer);
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver("040f022737");
    peer.send(good);
    await peer.expect("846600");
    await peer.deliver("060f00");
    expect(await paying).toMatchObject({ end: "lost", code: "unjudged" });
  });

  test("with an unreadable report is lost when the terminal then aborts", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    const paying = pay(driver, observer);
    await peer.expect(payCommand);
    peer.send("800000", "040f0704000000001a00");
    await peer.expect("846600");
    await peer.deliver("061e016c");
    expect(await paying).toMatchObject({ end: "lost", code: "unjudged" });
    expect(observer.happened).toEqual([]);
  });

  test("with a bad completion is lost without a report, aborted with a bad report", async () => {
    const { peer, driver } = await connect(makePeer);
    const first = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver("060f022705");
    expect(await first).toMatchObject({ end: "lost", code: "05" });
    const second = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver(declined, "060f022705");
    expect(await second).toMatchObject({ end: "aborted", code: "05" });
  });

  test("with a good report after a wrong PIN reports both, and ends as completed", async () => {
    const { peer, driver } = await connect(makePeer);
    const observer = new Observer();
    const paying = pay(driver, observer);
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver("040f022737", "04ff0115", good, "060f00");
    expect(await paying).toMatchObject({ end: "completed" });
    expect(observer.happened).toEqual(["report 37", "prompt 15", "report 00", "acknowledged"]);
  });

  test("answers an unknown message with 84 83 and goes on", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000", "06d800");
    await peer.expect("848300");
    peer.send("0fa1020001");
    await peer.expect("848300");
    await peer.deliver(good, "060f00");
    expect(await paying).toMatchObject({ end: "completed" });
  });

  test("whose line breaks is lost, and the command is never sent again", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver("04ff010a");
    peer.drop();
    expect(await paying).toMatchObject({ end: "lost" });
    expect(peer.log.filter((apdu) => apdu.startsWith("0601"))).toHaveLength(1);
  });

  test("that gets no answer is lost after T3", async () => {
    const { peer, driver } = await connect(makePeer, { timers: { ...patientTimers, t3Ms: 300 } });
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    expect(await paying).toMatchObject({ end: "lost", text: expect.stringContaining("300 ms") });
    expect(peer.log.filter((apdu) => apdu.startsWith("0601"))).toHaveLength(1);
  });

  test("whose end does not come is lost after T4", async () => {
    const { peer, driver } = await connect(makePeer, { timers: { ...patientTimers, t4Ms: 300 } });
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000");
    expect(await paying).toMatchObject({ end: "lost", text: expect.stringContaining("silent") });
  });

  test("is not sent when nothing is connected", async () => {
    const { peer, driver } = await connect(makePeer, {
      reconnect: { minMs: 60_000, maxMs: 60_000 },
      pollIntervalMs: 500,
    });
    peer.drop();
    await driver.until(() => driver.terminal.state.link === "disconnected");
    expect(await pay(driver, new Observer())).toMatchObject({ end: "not-sent" });
    expect(peer.log.filter((apdu) => apdu.startsWith("0601"))).toEqual([]);
  });

  test("that an abort reaches in time ends as cancelled by the terminal", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver("04ff010a");
    const cancelling = driver.terminal.cancel();
    await peer.expect("06b000");
    peer.send("800000");
    expect(await cancelling).toEqual({ answer: "taken" });
    await peer.deliver("040f02276c", "061e016c");
    expect(await paying).toMatchObject({ end: "aborted", code: "6C", reason: "cancelled" });
  });

  test("that an abort reaches too late goes on, and is completed", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver("04ff0104");
    const cancelling = driver.terminal.cancel();
    await peer.expect("06b000");
    peer.send("848300");
    expect(await cancelling).toEqual({ answer: "refused", code: "83", text: "function unknown" });
    await peer.deliver(good, "060f00");
    expect(await paying).toMatchObject({ end: "completed" });
  });

  test("whose end comes before the answer to an abort still gets that answer", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000");
    await peer.deliver("04ff010a");
    const cancelling = driver.terminal.cancel();
    await peer.expect("06b000");
    await peer.deliver("061e016c");
    expect(await paying).toMatchObject({ end: "aborted" });
    const checking = driver.terminal.check(never);
    peer.send("800000");
    expect(await cancelling).toEqual({ answer: "taken" });
    await peer.expect("0501050000000306");
    peer.send("849c00");
    expect(await checking).toMatchObject({ cr: "1" });
  });

  test("is refused while another payment runs", async () => {
    const { peer, driver } = await connect(makePeer);
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    expect(await pay(driver, new Observer())).toMatchObject({ end: "not-sent", code: "busy" });
    await expect(driver.terminal.prepare(never)).rejects.toMatchObject({ reason: "busy" });
    await expect(driver.terminal.check(never)).rejects.toMatchObject({ reason: "busy" });
    peer.send("84b100");
    await status(peer);
    await paying;
  });

  test("a report with no payment running is refused and becomes an event", async () => {
    const { peer, driver } = await connect(makePeer);
    peer.send(good);
    await peer.expect("846600");
    await driver.until(() => driver.events.some(({ type }) => type === "unmatched-report"));
    expect(driver.events.at(-1)).toMatchObject({ report: { amountMinor: 1000, good: true } });
  });

  test("that was lost is probed by status, registration and last transaction", async () => {
    const { peer, driver } = await connect(makePeer, { timers: { ...patientTimers, t4Ms: 300 } });
    const paying = pay(driver, new Observer());
    await peer.expect(payCommand);
    peer.send("800000");
    expect(await paying).toMatchObject({ end: "lost" });
    const asking = driver.terminal.lastTransaction(never);
    await peer.expect("0501050000000306");
    peer.send("800000");
    await peer.deliver("060f0100");
    await introduce(peer, [good]);
    await peer.expect("0501050000000306");
    peer.send("800000");
    await peer.deliver("060f0100");
    await repeatReceipt(peer, [good]);
    expect(await asking).toMatchObject({
      kind: "transaction",
      report: { receiptNumber: "0042", amountMinor: 1000 },
    });
    expect(peer.log.filter((apdu) => apdu.startsWith("0601"))).toHaveLength(1);
  });
});

test("a prompt with a card number broken across two lines is masked", async () => {
  const { peer, driver } = await connect(tcpPeer);
  const observer = new Observer();
  const paying = pay(driver, observer);
  await peer.expect(payCommand);
  peer.send("800000");
  // 24 { 07 "4111 1111", 07 "1111 1111" }
  const lines = "0709 34313131 20 31313131 0709 31313131 20 31313131".replaceAll(" ", "");
  await peer.deliver(withLength(`04ff00ff0106182416${lines}`));
  await peer.deliver("061e016c");
  await paying;
  expect(observer.prompts.map(({ text }) => text)).toEqual(["4111 11XX XXXX 1111"]);
});

test("the log holds no card number, no password and no track", async () => {
  const { peer, driver } = await connect(tcpPeer);
  const paying = pay(driver, new Observer());
  await peer.expect(payCommand);
  peer.send("800000");
  await peer.deliver(
    withLength("040f00 2700 22f0f84111111111111111 23f1f34111111111111111d24122011f"),
    withLength(`06d10000${Buffer.from("Karte 4111111111111111").toString("hex")}`),
    "060f00",
  );
  await paying;
  const all = driver.logged.join("\n");
  expect(all).toContain("060110040000000010004909781944011e0203");
  expect(all).not.toMatch(/4111111111|d24122011|34313131313131313131/);
  expect(all).not.toContain("000000be");
});
