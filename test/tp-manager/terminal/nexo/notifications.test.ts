import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import {
  headerFor,
  type NexoKey,
  type NexoMessage,
  NONCE_BYTES,
  nexoKey,
  writeMessage,
} from "../../../../src/nexo/index.ts";
import { certified } from "../../../../src/simulator/certificates.ts";
import type { NexoOptions } from "../../../../src/tp-manager/terminal/nexo/nexo-options.ts";
import { NexoTerminal } from "../../../../src/tp-manager/terminal/nexo/nexo-terminal.ts";
import type { Prompt, TransactionReport } from "../../../../src/tp-manager/terminal/terminal.ts";
import { PATIENCE_MS } from "../../../support/clocks/patience.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";
import { nexoOptions } from "../../../support/terminals/nexo-options.ts";
import { fakeTerminal, key, poiId } from "./fake.ts";
import { order, startedTerminal } from "./started.ts";

/* What the terminal says by itself, by real TLS connections: prompts, and nothing else. */

const valid = { fromMs: Date.now() - 1e6, toMs: Date.now() + 1e9 };
const own = certified({ commonName: "kiosk", hosts: ["127.0.0.1"], isAuthority: true, ...valid });
const poll = { timeout: PATIENCE_MS };
const TENDER = "oLkO001517998574000";
const ID = "KTESTTEST7";

type Changes = Readonly<Record<string, unknown>>;

/** A display notification about the running payment, with changes of its header. */
function display(event: string, header: Changes = {}, tender = TENDER): NexoMessage {
  const ids = { saleId: "kiosk", serviceId: ID, poiId };
  const stamp = "2018-02-07T10%3a16%3a14.000Z";
  const ReferenceID = `TransactionID=${tender}&TimeStamp=${stamp}&event=${event}`;
  return {
    root: "SaleToPOIRequest",
    header: { ...headerFor("Display", "Request", ids), DeviceID: "1517998562", ...header },
    name: "DisplayRequest",
    body: {
      DisplayOutput: [
        {
          Device: "CashierDisplay",
          InfoQualify: "Status",
          OutputContent: { OutputFormat: "MessageRef", PredefinedContent: { ReferenceID } },
          ResponseRequiredFlag: false,
        },
      ],
    },
  };
}

function happened(EventToNotify: string): NexoMessage {
  const header = headerFor("Event", "Notification", { saleId: "null", serviceId: "1", poiId });
  const { ServiceID: _, ...bare } = header;
  return {
    root: "SaleToPOIRequest",
    header: { ...bare, DeviceID: "5" },
    name: "EventNotification",
    body: { EventToNotify, TimeStamp: "2020-11-13T09:02:35.697Z" },
  };
}

const written = (message: NexoMessage, by: NexoKey | null = key): string =>
  writeMessage(message, by, randomBytes(NONCE_BYTES));

/** Posts a text; resolves with the answer, or with null if the connection is ended without one. */
async function post(port: number, text: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const request = httpsRequest(
    { host: "127.0.0.1", port, method: "POST", ca: own.cert, minVersion: "TLSv1.2", agent: false },
    (response) => {
      response.setEncoding("utf8");
      response.on("data", (said: string) => resolve(`${response.statusCode} ${said}`));
    },
  );
  request.on("error", () => {}).on("close", () => resolve(null));
  request.end(text);
  return await promise;
}

type Fake = Awaited<ReturnType<typeof fakeTerminal>>;

async function portOf({ lines }: Pick<Fake, "lines">): Promise<number> {
  const line = () => lines.find((one) => one.includes("listens for the terminal's notifications"));
  await expect.poll(line, poll).toBeDefined();
  return (JSON.parse(line() ?? "") as { port: number }).port;
}

const notifyFiles = (() => {
  const folder = temporaryFolder(afterAll);
  return [own.cert, own.key].map((text, at) => {
    const file = join(folder, `${at}.pem`);
    writeFileSync(file, text);
    return file;
  });
})();
const notify = { notifyPort: 0, notifyFiles };

/** A payment that runs until `end` is called, and a port that takes notifications meanwhile. */
async function running(changes: Partial<NexoOptions> = {}) {
  const held = Promise.withResolvers<ServerResponse>();
  const fake = await fakeTerminal(
    ({ header }) =>
      header.MessageCategory === "Payment"
        ? (response) => held.resolve(response)
        : { status: 500, text: "" },
    steppedClock,
    { ...notify, paymentLimitMs: PATIENCE_MS, ...changes },
  );
  fake.driver.start();
  const port = await portOf(fake);
  const prompts: Prompt[] = [];
  const reports: unknown[] = [];
  const paying = fake.driver.pay(order(), {
    report: (report) => {
      reports.push(report);
      return "accept";
    },
    ackArrived: () => {},
    prompt: (prompt) => void prompts.push(prompt),
  });
  const response = await held.promise;
  const end = async (result: object | null, by: NexoKey | null = key) => {
    if (result === null) response.socket?.destroy();
    else response.end(written({ ...approved, body: result }, by));
    return await paying;
  };
  return { ...fake, port, prompts, reports, end, codes: () => prompts.map(({ code }) => code) };
}

const approved: NexoMessage = {
  root: "SaleToPOIResponse",
  header: headerFor("Payment", "Response", { saleId: "kiosk", serviceId: ID, poiId }),
  name: "PaymentResponse",
  body: {},
};
const success = {
  Response: { Result: "Success" },
  POIData: {
    POITransactionID: { TransactionID: `${TENDER}.88`, TimeStamp: "2018-02-07T10:16:14Z" },
  },
  PaymentResult: { AmountsResp: { Currency: "EUR", AuthorizedAmount: 12 } },
};

test("prompts arrive while a payment runs, in every language", async () => {
  const at = await running();
  for (const event of ["TENDER_CREATED", "CARD_PRESENTED", "WAIT_FOR_PIN", "TENDER_FINAL"]) {
    expect(await post(at.port, written(display(event)))).toBe("200 [accepted]");
  }
  expect(at.codes()).toEqual(["TENDER_CREATED", "CARD_PRESENTED", "WAIT_FOR_PIN"]);
  expect(at.prompts[2]).toMatchObject({
    text: "Enter your PIN",
    language: "en",
    texts: { de: "Geheimzahl eingeben", it: "Inserire il PIN" },
  });
  expect(at.lines.join("")).toContain(`"tender":"${TENDER}"`);
  expect(await at.end(success)).toMatchObject({ end: "completed" });
  expect(at.reports).toMatchObject([{ good: true, amountMinor: 1_200 }]);
});

test("the simulated terminal names the payment as its answer does", async () => {
  const simulator = await startedTerminal();
  const options = nexoOptions(simulator, notify);
  const { log, lines } = recordingLog();
  const driver = new NexoTerminal({ options, clock: steppedClock, log });
  onTestFinished(() => driver.close());
  driver.start();
  const port = await portOf({ lines });
  Object.assign(simulator.options.behaviour, { notifyUrl: `https://127.0.0.1:${port}` });
  const codes: string[] = [];
  const reports: TransactionReport[] = [];
  simulator.arm("hold:at=host");
  const paying = driver.pay(order(), {
    report: (report) => {
      reports.push(report);
      return "accept";
    },
    ackArrived: () => {},
    prompt: ({ code }) => void codes.push(code),
  });
  await expect.poll(() => codes, poll).toEqual(["TENDER_CREATED", "CARD_PRESENTED"]);
  simulator.terminal.parts.release();
  expect(await paying).toMatchObject({ end: "completed" });
  const [name = ""] = reports[0]?.receiptNumber?.split(".") ?? [];
  expect(lines.join("")).toContain(`"tender":"${name}"`);
});

test("the name of a lost payment at the terminal is in the order's timeline", async () => {
  const at = await running();
  await post(at.port, written(display("TENDER_CREATED")));
  expect(await at.end(null)).toEqual({
    end: "lost",
    code: "no-answer",
    text: expect.stringMatching(`; the terminal had named the payment ${TENDER}$`),
    ticket: "",
  });
});

const other = (phrase: string) => nexoKey("CryptoKeyIdentifier12345", 1, phrase);
/** A protected message whose code of authenticity was changed. */
function withOtherHmac(message: NexoMessage): string {
  const { SaleToPOIRequest: members } = JSON.parse(written(message));
  const SecurityTrailer = { ...members.SecurityTrailer, Hmac: Buffer.alloc(32).toString("base64") };
  return JSON.stringify({ SaleToPOIRequest: { ...members, SecurityTrailer } });
}
function withOtherHeader(message: NexoMessage): string {
  const { SaleToPOIRequest: members } = JSON.parse(written(message));
  const MessageHeader = { ...members.MessageHeader, ServiceID: ID };
  return JSON.stringify({ SaleToPOIRequest: { ...members, MessageHeader } });
}

const pin = display("WAIT_FOR_PIN");
const forged: Array<[what: string, text: string, answer?: null]> = [
  ["another passphrase", written(pin, other("another"))],
  ["another key", written(pin, nexoKey("another", 1, "p@ssw0rd123456"))],
  ["clear text", written(pin, null)],
  ["another code of authenticity", withOtherHmac(pin)],
  ["another header outside", withOtherHeader(display("WAIT_FOR_PIN", { ServiceID: "EARLIER123" }))],
  ["an earlier payment's id", written(display("WAIT_FOR_PIN", { ServiceID: "EARLIER123" }))],
  ["no id of a payment", written(display("WAIT_FOR_PIN", { ServiceID: undefined }))],
  ["another register", written(display("WAIT_FOR_PIN", { SaleID: "other" }))],
  ["another terminal", written(display("WAIT_FOR_PIN", { POIID: "P400Plus-999999999" }))],
  ["another payment at the terminal", written(display("WAIT_FOR_PIN", {}, "other"))],
  ["an unknown event", written(display("__proto__"))],
  ["an event of the terminal", written(happened("OutOfOrder"))],
  ["an unknown event of the terminal", written(happened("NoSuchEvent"))],
  ["the answer to the payment", written({ ...approved, body: success })],
  ["no message", "{}"],
  ["nothing", ""],
  ["a huge body", `${written(pin)}${" ".repeat(70_000)}`, null],
];

test("what is not of this payment and protected shows nothing and ends nothing", async () => {
  const at = await running();
  await post(at.port, written(display("TENDER_CREATED")));
  for (const [what, text, answer = "200 [accepted]"] of forged) {
    at.lines.length = 0;
    expect(await post(at.port, text), what).toBe(answer);
    expect(at.codes(), what).toEqual(["TENDER_CREATED"]);
    expect(at.driver.state.busy, what).toBe(true);
  }
  expect(await at.end(success)).toMatchObject({ end: "completed" });
  expect(at.reports).toMatchObject([{ good: true, amountMinor: 1_200 }]);
});

const closed = (socket: Socket) => new Promise((resolve) => socket.on("close", resolve));

test("a flood and slow senders keep no prompt out for long, and change no payment", async () => {
  const at = await running({ notifyMs: 200 });
  const text = written(pin);
  const slow = connect({ host: "127.0.0.1", port: at.port, ca: own.cert });
  slow.on("error", () => {}).resume();
  await once(slow, "secureConnect");
  slow.write(`POST / HTTP/1.1\r\nhost: kiosk\r\ncontent-length: ${text.length}\r\n\r\n{`);
  const silent = connectTcp(at.port, "127.0.0.1")
    .on("error", () => {})
    .resume();
  const [slowEnd, silentEnd] = [closed(slow), closed(silent)];
  // A TLS handshake of so many clients would take longer than all else here.
  const knock = async (): Promise<void> => {
    const socket = connectTcp(at.port, "127.0.0.1")
      .on("error", () => {})
      .resume();
    socket.write(text);
    await closed(socket);
  };
  for (let sent = 0; sent < 1_000; sent += 100)
    await Promise.all(Array.from({ length: 100 }, knock));
  await Promise.all([slowEnd, silentEnd]);
  expect(at.lines.filter((line) => line.includes("are ignored")).length).toBeLessThanOrEqual(20);
  const next = display("TENDER_CREATED");
  await expect.poll(() => post(at.port, written(next)), poll).toBe("200 [accepted]");
  expect(await at.end(success)).toMatchObject({ end: "completed" });
});

test("without a key, a terminal for tests is heard in clear", async () => {
  const at = await running({ key: null });
  await post(at.port, written(pin));
  await post(at.port, written(pin, null));
  expect(at.codes()).toEqual(["WAIT_FOR_PIN"]);
  expect(await at.end(success, null)).toMatchObject({ end: "completed" });
});

describe("an event of the terminal", () => {
  test("leads to an early question, which alone decides, and to one in five seconds", async () => {
    const clock = new TestClock();
    const status = { Response: { Result: "Success" }, POIStatus: { GlobalStatus: "OK" } };
    const fake = await fakeTerminal(
      ({ header }) => ({
        root: "SaleToPOIResponse",
        header: { ...header, MessageType: "Response" },
        name: "DiagnosisResponse",
        body: status,
      }),
      clock,
      { ...notify, pollMs: 600_000 },
    );
    fake.driver.start();
    const port = await portOf(fake);
    const isAsked = async (times: number): Promise<void> => {
      await expect.poll(() => clock.running, poll).toEqual(["terminal poll"]);
      expect(fake.asked.length).toBe(times);
    };
    await isAsked(1);
    await post(port, written(happened("OutOfOrder")));
    await clock.advance(5_000);
    await post(port, written(happened("SaleWakeUp")));
    await post(port, written(happened("BeginMaintenance")));
    await isAsked(2);
    await post(port, written(happened("Shutdown")));
    await isAsked(2);
    expect(fake.driver.state).toMatchObject({ link: "connected", status: { cr: "0" } });
  });
});

test("a port that another program has costs the prompts, and no payment", async () => {
  const at = await running();
  const second = await fakeTerminal(() => ({ status: 500, text: "" }), steppedClock, {
    ...notify,
    notifyPort: at.port,
  });
  second.driver.start();
  const said = /NEXO_NOTIFY_PORT \d+: .*EADDRINUSE.*; there will be no prompts/;
  await expect.poll(() => second.lines.join(""), poll).toMatch(said);
  expect(await at.end(success)).toMatchObject({ end: "completed" });
});
