import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  deliverMail,
  mailAddresses,
  mailText,
} from "../../../../src/simulator/gateway/notifications/mail.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { merchantForTest } from "../merchant-for-test.ts";
import { eventually, generate, sandboxForTest } from "../sandbox-for-test.ts";

interface MailServer {
  readonly host: string;
  readonly port: number;
  /** Lines of the client, a mail as one text. */
  readonly heard: readonly string[];
}

/** A mail server on a real port; `says` answers a line, undefined hangs, "" ends the connection. */
async function mailServer(
  says: (line: string) => string | undefined = () => undefined,
  greeting: string | undefined = "220 here",
): Promise<MailServer> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    let [unread, inMail] = ["", false];
    const answer = (text: string | undefined) => {
      if (text === "") socket.destroy();
      else if (text !== undefined) socket.write(`${text}\r\n`);
    };
    answer(greeting);
    socket.on("data", (chunk) => {
      unread += chunk;
      for (;;) {
        const mark = inMail ? "\r\n.\r\n" : "\r\n";
        const end = unread.indexOf(mark);
        if (end < 0) return;
        const line = unread.slice(0, end);
        unread = unread.slice(end + mark.length);
        heard.push(line);
        const reply = says(inMail ? "mail" : line);
        inMail = !inMail && line === "DATA" && (reply ?? "").startsWith("354");
        answer(reply);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return { host: "127.0.0.1", port: typeof address === "object" ? (address?.port ?? 0) : 0, heard };
}

const polite = (line: string): string => {
  if (line.startsWith("EHLO")) return "250-here\r\n250-8BITMIME\r\n250 HELP";
  if (line === "DATA") return "354 go on";
  if (line === "QUIT") return "221 bye";
  return line === "mail" ? "250 queued as 1" : "250 ok";
};

/** A polite server that answers lines that begin so in another way. */
const except =
  (begin: string, reply: string | undefined) =>
  (line: string): string | undefined =>
    line.startsWith(begin) ? reply : polite(line);

const mail = {
  to: ["a@shop.test", "b@shop.test"],
  writtenAt: "2026-01-15T12:00:00.000Z",
  text: "Subject: x\r\n\r\n.dot\r\n..\r\nend\r\n",
};

const send = (server: MailServer, signal = new AbortController().signal) =>
  deliverMail(server, mail, signal);

test("a mail is delivered to every receiver, with its dots doubled", async () => {
  const server = await mailServer(polite);
  expect(await send(server)).toEqual({ verdict: "taken", answer: "SMTP 250 queued as 1" });
  expect(server.heard).toEqual([
    "EHLO localhost",
    "MAIL FROM:<gateway-sandbox@localhost>",
    "RCPT TO:<a@shop.test>",
    "RCPT TO:<b@shop.test>",
    "DATA",
    "Subject: x\r\n\r\n..dot\r\n...\r\nend",
    "QUIT",
  ]);
});

describe("a server that", () => {
  const cases = [
    ["knows no EHLO", except("EHLO", "502 what"), "taken", /250 queued/],
    ["refuses one receiver", except("RCPT TO:<b", "550 nobody"), "taken", /queued.*550 nobody/],
    ["refuses every receiver", except("RCPT", "550 nobody"), "refused", /550 nobody/],
    ["is busy for every receiver", except("RCPT", "450 later"), "again", /450 later/],
    ["refuses the sender", except("MAIL", "553 no"), "refused", /553 no/],
    ["refuses DATA", except("DATA", "554 no"), "refused", /554 no/],
    ["is full", except("mail", "452 full"), "again", /452 full/],
    ["refuses the mail", except("mail", "554 spam"), "refused", /554 spam/],
    ["says no farewell", except("QUIT", ""), "taken", /250 queued/],
  ] as const;
  test.each(cases)("%s", async (_, says, verdict, expected) => {
    const { verdict: given, answer: answered } = await send(await mailServer(says));
    expect(given).toBe(verdict);
    expect(answered).toMatch(expected);
  });

  const broken = [
    ["is none", polite, "HTTP/1.1 400 Bad Request", /speaks no SMTP/],
    ["does not stop talking", polite, `220-${"x".repeat(70_000)}`, /replies are endless/],
    ["ends before the mail is taken", except("mail", ""), "220 here", /ECONNRESET|closed/],
  ] as const;
  test.each(broken)("%s takes no mail", async (_, says, greeting, expected) => {
    await expect(send(await mailServer(says, greeting))).rejects.toThrow(expected);
  });

  test("refuses the connection takes no mail", async () => {
    await expect(send({ host: "127.0.0.1", port: 1, heard: [] })).rejects.toThrow("ECONNREFUSED");
  });

  test("hangs is given up when time is up", async () => {
    const server = await mailServer(except("DATA", undefined));
    const overdue = new AbortController();
    const sent = send(server, overdue.signal);
    const left = expect(sent).rejects.toThrow("abort");
    await eventually(() => server.heard.at(-1)).toBe("DATA");
    overdue.abort();
    await left;
  });
});

test("several receivers are read; what a header cannot carry is left out", () => {
  expect(mailAddresses("a@x.test, b@x.test;c@x.test")).toEqual([
    "a@x.test",
    "b@x.test",
    "c@x.test",
  ]);
  expect(mailAddresses("a@x.test,\r\nb@x.test")).toEqual(["a@x.test", "b@x.test"]);
  for (const bad of ["", "a><b@x.test", "é@x.test", "a\x01@x.test", '"a"@x.test']) {
    expect(mailAddresses(bad)).toEqual([]);
  }
});

test("a mail has plain bytes and short lines, and values keep inside their line", () => {
  const value = `é=${"long ".repeat(60)} \r\nBcc: all@x.test`;
  const text = mailText({
    to: ["a@x.test"],
    subject: "capture ok: 1",
    messageId: "1",
    nowMs: 0,
    fields: [
      ["idForMerchant", value],
      ["merchantDatas", [{ key: "k", value: "v " }]],
    ],
  });
  expect(text).toMatch(/^[\r\n\x20-\x7e]*$/);
  for (const line of text.split("\r\n")) expect(line.length).toBeLessThanOrEqual(76);
  expect(text).toContain("Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n");
  const body = text.slice(text.indexOf("\r\n\r\n") + 4).replaceAll("=\r\n", "");
  const bytes = body.replace(/=([0-9A-F]{2})/g, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  expect(body.split("\r\n")).toHaveLength(3);
  const decoded = Buffer.from(bytes, "latin1").toString();
  expect(decoded).toBe(`idForMerchant: ${value}\r\n_aKey_k: v \r\n`);
});

test("operations are mailed to a file next to the database, and posted as before", async () => {
  const database = join(temporaryFolder(), "sandbox.db");
  const merchant = await merchantForTest();
  const sandbox = await sandboxForTest({ autoPay: true, database });
  const emailCallback = "one@shop.test;two@shop.test";
  const idForMerchant = "From the shop";
  await generate(sandbox, {
    urlCallback: merchant.url,
    emailCallback,
    merchantReference: idForMerchant,
  });
  const box = () => readFileSync(`${database}.mbox`, "utf8").split(/^From gateway-sandbox /m);
  await eventually(() => merchant.received.length).toBe(2);
  await eventually(async () => {
    const list = await (await fetch(`${sandbox.url}/sandbox/notifications`)).json();
    return (list as { state: string }[]).filter(({ state }) => state === "delivered").length;
  }).toBe(4);
  const id = sandbox.orders()[0]?.transactionPublicId;
  const [, first = "", second = ""] = box();
  expect(first).toMatch(/^[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \d{4}\nFrom: gateway-/);
  expect(first).toContain(`\nTo: one@shop.test, two@shop.test\n`);
  expect(first).toContain(`\nSubject: authorization ok: ${id}\n`);
  expect(first).toContain("\nidForMerchant: From the shop\n");
  expect(second).toContain(`\nSubject: capture ok: ${id}\n`);
  expect(second).toContain("\norigAmount: 19.99\n");
});

test("an order without emailCallback is not mailed, nor one of a sandbox in memory", async () => {
  const merchant = await merchantForTest();
  const count = async ({ url }: { url: string }) =>
    ((await (await fetch(`${url}/sandbox/notifications`)).json()) as []).length;
  const sandbox = await sandboxForTest({ autoPay: true });
  await generate(sandbox, { urlCallback: merchant.url });
  expect(await count(sandbox)).toBe(2);
  const memory = await sandboxForTest({ autoPay: true, database: ":memory:" });
  await generate(memory, { urlCallback: merchant.url, emailCallback: "a@shop.test" });
  expect(await count(memory)).toBe(2);
});

test("a mail server that hangs holds no notification up, and its mail is sent again", async () => {
  const merchant = await merchantForTest();
  const clock = new TestClock();
  let reply: string | undefined;
  const server = await mailServer((line) => (line === "mail" ? reply : polite(line)));
  const sandbox = await sandboxForTest({ autoPay: true, clock, mail: server });
  const emailCallback = "a@shop.test";
  await generate(sandbox, { urlCallback: merchant.url, emailCallback, manualCapture: "1" });
  await eventually(() => merchant.received.length).toBe(1);
  await eventually(() => server.heard.length).toBe(5);
  reply = "250 queued as 2";
  await clock.advance(20_000);
  const outcomes = async () => {
    const list = await (await fetch(`${sandbox.url}/sandbox/notifications`)).json();
    return (list as { outcome: string }[]).map(({ outcome }) => outcome);
  };
  await eventually(outcomes).toEqual(["the notification got no answer in 20000 ms", "HTTP 200"]);
  await eventually(() => clock.running).toEqual(["next notification"]);
  await clock.advance(2_000);
  await eventually(outcomes).toEqual(["SMTP 250 queued as 2", "HTTP 200"]);
});
