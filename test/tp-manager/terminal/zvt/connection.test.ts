import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../../../src/shared/time.ts";
import { createTransport } from "../../../../src/tp-manager/terminal/transport/open-transport.ts";
import type { ZvtOptions } from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { Driver, never, Observer, patientTimers, tenEuro } from "./driver.ts";
import {
  introduce,
  type Peer,
  repeatReceipt,
  serialPeer,
  statusCompletion,
  tcpPeer,
  terminalId,
  withLength,
} from "./peer.ts";

const stored = withLength("040f00 2700 04000000000999 490978 0b000007 870007 0d0114");
const open: { peer: Peer; driver: Driver }[] = [];

afterEach(async () => {
  for (const { peer, driver } of open.splice(0)) {
    await driver.terminal.close();
    await peer.close();
  }
});

async function begin(
  options: Partial<ZvtOptions> = {},
  makePeer: () => Promise<Peer> = tcpPeer,
): Promise<{ peer: Peer; driver: Driver }> {
  const peer = await makePeer();
  const driver = new Driver(peer.transport, options);
  open.push({ peer, driver });
  driver.terminal.start();
  return { peer, driver };
}

async function connect(options: Partial<ZvtOptions> = {}, makePeer = tcpPeer) {
  const { peer, driver } = await begin(options, makePeer);
  await introduce(peer, [stored]);
  await driver.connected();
  return { peer, driver };
}

async function answerStatus(peer: Peer, completion: string): Promise<void> {
  await peer.expect("0501050000000306");
  peer.send("800000");
  await peer.deliver(completion);
}

describe("connecting", () => {
  test("registers with a bare currency, the printer width, and 06 D3 permitted", async () => {
    const { peer } = await begin();
    const apdu = await peer.next();
    expect(apdu).toBe(
      "06001b 000000 be 0978 0613 120140 26040a0206d3 1f0401c0 1f7303000000".replaceAll(" ", ""),
    );
  });

  test("registers as configured, and asks for a character set when it is not CP437", async () => {
    const { peer } = await begin({
      password: "123456",
      configByte: 0x3e,
      registrationCurrency: "0756",
      printerWidth: 32,
      charset: "iso8859-1",
      messageIds: false,
    });
    expect(await peer.next()).toBe(
      "06001a 123456 3e 0756 0612 120132 26040a0206d3 2703140101 1f0401c0".replaceAll(" ", ""),
    );
  });

  test("learns the terminal's identity, status, clock and last transaction", async () => {
    const { peer, driver } = await connect();
    expect(driver.terminal.state).toMatchObject({
      link: "connected",
      linkProblem: null,
      identity: {
        serialNumber: "12345678",
        deviceId: "TEST",
        terminalId,
        version: "1.0",
      },
      status: { cr: "0", detail: "00 ready" },
    });
    const preparing = driver.terminal.prepare(never);
    await repeatReceipt(peer, [stored]);
    const baseline = await preparing;
    expect(baseline.last).toMatchObject({ report: { receiptNumber: "0007", amountMinor: 999 } });
    const displayedMs = new Date(2026, 0, 15, 12, 0, 0).getTime();
    expect(baseline.clockOffsetMs).toBeLessThan(displayedMs - Date.now() + 60_000);
    expect(baseline.clockOffsetMs).toBeGreaterThan(displayedMs - Date.now() - 60_000);
  });

  test("asks an older terminal for its version again, without a service byte", async () => {
    const { peer, driver } = await begin();
    await peer.expect(/^0600/);
    peer.send("800000");
    await peer.deliver(`060f 0a 1900 29${terminalId} 490978`);
    await answerStatus(peer, "060f0100");
    await peer.expect("050103000000");
    peer.send("800000");
    await peer.deliver("060f 08 f0f0f4 322e3134 00");
    await repeatReceipt(peer, []);
    await driver.connected();
    expect(driver.terminal.state.identity).toEqual({
      serialNumber: "",
      deviceId: "",
      terminalId,
      version: "2.14",
    });
  });

  test("uses the character set that the terminal agrees to", async () => {
    const { peer, driver } = await begin({ charset: "iso8859-1" });
    await peer.expect(/^0600/);
    peer.send("800000");
    await peer.deliver(withLength(`060f00 1900 29${terminalId} 06052703140101`));
    await answerStatus(peer, statusCompletion());
    await repeatReceipt(peer, []);
    await driver.connected();
    const observer = new Observer();
    const paying = driver.terminal.pay(tenEuro, observer);
    await peer.expect(/^0601/);
    peer.send("800000");
    await peer.deliver("04ff0d 0a01 0609 24070705 4772fc6e65", "061e016c");
    await paying;
    const prompt = { code: "0A", text: "Grüne", language: "" };
    expect(observer.prompts[0]).toMatchObject(prompt);
  });

  test("reports a refused registration as a text, and tries it again for ever", async () => {
    const { peer, driver } = await begin();
    for (let attempt = 0; attempt < 3; attempt++) {
      await peer.expect(/^0600/);
      peer.send("843700");
      await driver.until(() =>
        /refused the registration/.test(`${driver.terminal.state.linkProblem}`),
      );
    }
    expect(driver.terminal.state.status).toBeNull();
    await introduce(peer);
    await driver.connected();
  });

  test("names a currency that the terminal does not have", async () => {
    const { peer, driver } = await begin({ reconnect: { minMs: 60_000, maxMs: 60_000 } });
    await peer.expect(/^0600/);
    peer.send("841e036f0756");
    await driver.until(() => driver.terminal.state.link === "disconnected");
    await driver.until(() => /6F wrong currency/.test(`${driver.terminal.state.linkProblem}`));
  });

  test("reconnects a broken line, and asks for identity and clock again", async () => {
    const { peer, driver } = await connect();
    peer.drop();
    await driver.until(() => driver.terminal.state.link === "disconnected");
    expect(driver.terminal.state.status).toBeNull();
    await peer.expect(/^0600/);
    peer.send("800000");
    await peer.deliver("060f 07 1900 2911112222");
    await answerStatus(peer, "060f0100");
    await peer.expect("050103000000");
    peer.send("800000");
    await peer.deliver("060f0100");
    await repeatReceipt(peer, []);
    await driver.connected();
    expect(driver.terminal.state.identity).toEqual({
      serialNumber: "",
      deviceId: "",
      terminalId: "11112222",
      version: "",
    });
    const preparing = driver.terminal.prepare(never);
    await repeatReceipt(peer, []);
    // The clock was that of the terminal before: this one does not send its time.
    expect(await preparing).toMatchObject({ clockOffsetMs: null });
    expect(driver.logged.filter((line) => /terminal link (up|lost)/.test(line))).toEqual([
      expect.stringContaining("info terminal link up"),
      expect.stringContaining("warn terminal link lost"),
      expect.stringContaining("info terminal link up"),
    ]);
  });

  test("reports a missing port as its state, and goes on", async () => {
    const missing = createTransport("/dev/ttyNOPE7", { baudRate: 9600, stopBits: 2 }, systemClock);
    const driver = new Driver(missing);
    driver.terminal.start();
    await driver.until(() => /ttyNOPE7/.test(`${driver.terminal.state.linkProblem}`));
    await expect(driver.terminal.prepare(never)).rejects.toMatchObject({
      name: "TerminalUnavailable",
    });
    expect(await driver.terminal.pay(tenEuro, new Observer())).toMatchObject({ end: "not-sent" });
    expect(await driver.terminal.cancel()).toEqual({ answer: "nothing-running" });
    await driver.terminal.close();
    await expect(driver.terminal.check(never)).rejects.toMatchObject({ reason: "closed" });
  });

  test("sends nothing and is disconnected before the start", async () => {
    const peer = await tcpPeer();
    const driver = new Driver(peer.transport);
    expect(driver.terminal.state).toMatchObject({ link: "disconnected", busy: false });
    await expect(driver.terminal.check(never)).rejects.toMatchObject({ reason: "disconnected" });
    await driver.terminal.close();
    await peer.close();
    expect(peer.log).toEqual([]);
  });

  test("ends when the driver is closed during the registration", async () => {
    const { peer, driver } = await begin();
    await peer.expect(/^0600/);
    await driver.terminal.close();
    expect(driver.terminal.state.link).toBe("disconnected");
  });
});

describe("an idle terminal", () => {
  test("is asked for its status periodically, and a change becomes an event", async () => {
    const { peer, driver } = await connect({ pollIntervalMs: 20 });
    await answerStatus(peer, statusCompletion());
    await answerStatus(peer, statusCompletion("f0"));
    await driver.until(() => driver.terminal.state.status?.cr === "2");
    expect(driver.events.filter(({ type }) => type === "status")).toHaveLength(2);
    expect(driver.events.at(-2)).toMatchObject({
      status: { cr: "2", call: "1", detail: "F0 end of day required" },
    });
    expect(driver.events.at(-1)).toEqual({ type: "demand", demand: "end-of-day" });
  });

  test("that does its own jobs on a status request may do them", async () => {
    const { peer, driver } = await connect({ pollIntervalMs: 20 });
    await peer.expect("0501050000000306");
    peer.send("800000");
    const totals = `60f0f5f3${"00".repeat(53)}`;
    await peer.deliver("04ff010f", withLength(`040f00270004000000001000${totals}`), "06d10181");
    peer.send("06d800");
    await peer.expect("848300");
    await peer.deliver(statusCompletion("b1"));
    await driver.until(() => driver.terminal.state.status?.cr === "2");
    expect(driver.events.filter(({ type }) => type === "unmatched-report")).toEqual([]);
  });

  test("that falls silent is reconnected, and reports its status before it registers", async () => {
    const timers = { ...patientTimers, t3Ms: 60 };
    const { peer, driver } = await connect({ pollIntervalMs: 20, timers });
    await peer.expect("0501050000000306");
    await driver.until(() => driver.terminal.state.link === "disconnected");
    await answerStatus(peer, "060f0100");
    await introduce(peer, [stored]);
    await driver.connected();
  });

  test.each([
    ["is busy", "849c00"],
    ["refuses to answer", "846600"],
  ])("that %s after a lost command is asked until it is idle", async (_, refused) => {
    const timers = { ...patientTimers, t3Ms: 60 };
    const { peer, driver } = await connect({ timers });
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    expect(await paying).toMatchObject({ end: "lost" });
    await peer.expect("0501050000000306");
    peer.send(refused);
    await answerStatus(peer, "060f019c");
    await answerStatus(peer, "060f0100");
    await introduce(peer, [stored]);
    await driver.connected();
  });

  test("that refuses every status after a lost command is registered after T4", async () => {
    const timers = { ...patientTimers, t3Ms: 60, t4Ms: 400 };
    const { peer, driver } = await connect({ timers });
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    expect(await paying).toMatchObject({ end: "lost" });
    let refusals = 0;
    let apdu = await peer.next();
    for (; apdu === "0501050000000306" && refusals < 12; apdu = await peer.next()) {
      refusals += 1;
      // The line breaks once meanwhile, which does not begin the wait anew.
      if (refusals === 3) peer.drop();
      else peer.send("84c200");
    }
    expect(refusals).toBeGreaterThan(3);
    expect(refusals).toBeLessThan(12);
    expect(driver.terminal.state).toMatchObject({
      link: "registering",
      linkProblem: expect.stringMatching(/status enquiry refused: C2/),
    });
    const logged = driver.logged.filter((line) => line.includes("enquiry refused: C2"));
    expect(logged).toHaveLength(2); // once on each connection
    peer.send("800000");
    await peer.deliver(`060f0a191029${terminalId}490978`);
    await answerStatus(peer, statusCompletion());
    await repeatReceipt(peer, [stored]);
    await driver.connected();
  });

  test("on a serial line gets silence after a lost command; a late report is refused", async () => {
    const timers = { ...patientTimers, t3Ms: 300 };
    const { peer, driver } = await connect({ timers, silenceMs: 300 }, serialPeer);
    const paying = driver.terminal.pay(tenEuro, new Observer());
    await peer.expect(/^0601/);
    expect(await paying).toMatchObject({ end: "lost" });
    await driver.until(() => driver.terminal.state.link === "registering");
    peer.send(stored);
    await peer.expect("846600");
    expect(driver.events.at(-1)).toMatchObject({ type: "unmatched-report" });
    await answerStatus(peer, "060f0100");
  });
});

describe("prepare", () => {
  test("refuses a terminal that is locked, and one that is busy", async () => {
    const { peer, driver } = await connect({ pollIntervalMs: 20 });
    await answerStatus(peer, statusCompletion("df"));
    await driver.until(() => driver.terminal.state.status?.cr === "2");
    const preparing = driver.terminal.prepare(never);
    const settled = expect(preparing).rejects.toMatchObject({
      reason: "out-of-order",
      message: "DF out of order",
    });
    await answerStatus(peer, statusCompletion("df"));
    await settled;
    const again = driver.terminal.prepare(never);
    const busy = expect(again).rejects.toMatchObject({ reason: "busy" });
    await answerStatus(peer, statusCompletion("9c"));
    await busy;
  });

  test("reads the last transaction each time: a sale at the terminal's keys shows", async () => {
    const { peer, driver } = await connect();
    const before = driver.terminal.prepare(never);
    await repeatReceipt(peer, [stored]);
    expect(await before).toMatchObject({ last: { report: { receiptNumber: "0007" } } });
    const atTheKeys = stored.replace("870007", "870008");
    const after = driver.terminal.prepare(never);
    await repeatReceipt(peer, [atTheKeys]);
    expect(await after).toMatchObject({ last: { report: { receiptNumber: "0008" } } });
  });

  test("registers a terminal again that restarted without closing the line", async () => {
    const { peer, driver } = await connect();
    const preparing = driver.terminal.prepare(never);
    await peer.expect("0620050000000303");
    peer.send("846b00");
    await peer.expect(/^0600/);
    peer.send("800000");
    await peer.deliver(`060f0a191029${terminalId}490978`);
    await repeatReceipt(peer, [stored]);
    expect(await preparing).toMatchObject({ last: { kind: "transaction" } });
  });

  test("stops waiting when its caller gives up", async () => {
    const { peer, driver } = await connect({ pollIntervalMs: 20 });
    await peer.expect("0501050000000306");
    await expect(driver.terminal.check(AbortSignal.timeout(20))).rejects.toThrow("timeout");
    const checking = driver.terminal.check(AbortSignal.timeout(10_000));
    peer.send("800000");
    await peer.deliver(statusCompletion());
    await answerStatus(peer, statusCompletion());
    expect(await checking).toMatchObject({ cr: "0" });
  });
});

describe("the last transaction", () => {
  async function ask(play: (peer: Peer) => Promise<void>) {
    const { peer, driver } = await connect();
    const asking = driver.terminal.lastTransaction(never);
    await answerStatus(peer, statusCompletion());
    await play(peer);
    return await asking;
  }

  test("is what the terminal repeats", async () => {
    expect(await ask((peer) => repeatReceipt(peer, [stored]))).toMatchObject({
      kind: "transaction",
      report: { receiptNumber: "0007", traceNumber: "000007", localDate: "0114" },
    });
  });

  test("is the second of two in one answer, and the first is reported with it", async () => {
    const second = stored.replace("870007", "870008");
    expect(await ask((peer) => repeatReceipt(peer, [stored, second]))).toMatchObject({
      report: { receiptNumber: "0008" },
      also: [{ receiptNumber: "0007" }],
    });
  });

  test("is unknown after a bare completion", async () => {
    expect(await ask((peer) => repeatReceipt(peer, []))).toMatchObject({ kind: "not-told" });
  });

  test("is unknown after the totals of an end of day", async () => {
    const totals = `60f0f5f3${"00".repeat(53)}`;
    const settlement = withLength(`040f00270004000000001000${totals}`);
    expect(await ask((peer) => repeatReceipt(peer, [settlement]))).toMatchObject({
      kind: "not-told",
    });
  });

  test("is unknown after a refusal, whose code is named", async () => {
    const last = await ask(async (peer) => {
      await peer.expect(/^0620/);
      peer.send("848300");
    });
    expect(last).toEqual({
      kind: "not-told",
      refused: true,
      why: "the terminal refused to repeat its last receipt: 83 function unknown",
    });
  });

  test("is asked for again after a registration that the terminal wants", async () => {
    const last = await ask(async (peer) => {
      await peer.expect(/^0620/);
      peer.send("846b00");
      await peer.expect(/^0600/);
      peer.send("800000");
      await peer.deliver("060f00");
      await repeatReceipt(peer, [stored]);
    });
    expect(last).toMatchObject({ kind: "transaction" });
  });

  test("of a busy terminal cannot be read", async () => {
    const { peer, driver } = await connect();
    const asking = driver.terminal.lastTransaction(never);
    const settled = expect(asking).rejects.toMatchObject({ reason: "busy" });
    await answerStatus(peer, statusCompletion("9c"));
    await settled;
  });

  test("of a terminal that refuses its status cannot be read", async () => {
    const { peer, driver } = await connect();
    const asking = driver.terminal.lastTransaction(never);
    const settled = expect(asking).rejects.toMatchObject({ reason: "busy" });
    await peer.expect("0501050000000306");
    peer.send("848300");
    await settled;
  });
});
