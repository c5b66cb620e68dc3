import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Logger as PinoLogger } from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { tapAlarms } from "../../../src/shared/catalog/alarm-log.ts";
import { type AlarmLog, createLogger, type Logger } from "../../../src/shared/process/logger.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { testCards } from "../masking/test-cards.ts";

interface Line {
  readonly level: string;
  readonly time: string;
  readonly program: string;
  readonly msg?: string;
  readonly [name: string]: unknown;
}

function fileLogger(): { log: PinoLogger; file: string; lines: () => Line[]; text: () => string } {
  const file = join(temporaryFolder(), "logs", "tp-manager.log");
  const log = createLogger({ program: "tp-manager", level: "debug", file }) as object as PinoLogger;
  const text = (): string => readFileSync(file, "utf8");
  const lines = (): Line[] =>
    text()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);
  return { log, file, lines, text };
}

const secretNames = [
  "password",
  "wsPassword",
  "pwd",
  "authorization",
  "Authorization",
  "AUTHORIZATION",
  "TERMINAL_MANAGER_PWD",
  "TERMINAL_PASSWORD",
  "GATEWAY_PWD",
  "OPERATOR_PWD",
  "notificationSecret",
  "NOTIFICATION_DIGEST_SECRETS",
  "token",
  "x-connector-token",
  "cookie",
  "track1",
  "track2",
  "track3",
  "pan",
  "redirectUrl",
];

describe.each(secretNames)("the secret %s", (name) => {
  test("is removed at depths 0 to 3 and further down, in lists too", () => {
    const { log, text, lines } = fileLogger();
    const secret = { [name]: "hunter2" };
    log.info({ ...secret, at: "depth 0" }, "logged");
    log.info({ a: { ...secret, at: "depth 1" } }, "logged");
    log.info({ a: { b: { ...secret, at: "depth 2" } } }, "logged");
    log.info({ a: { b: { c: { ...secret, at: "depth 3" } } } }, "logged");
    log.info({ a: { b: { c: { d: { e: { ...secret, at: "depth 5" } } } } } }, "logged");
    log.info({ list: [[secret], { deeper: [secret] }] }, "logged");
    log.info({ map: new Map([[name, "hunter2"]]) }, "logged");
    log.child({ ...secret, nested: { secret } }).info("logged");
    expect(lines().length).toBe(8);
    expect(text()).not.toContain("hunter2");
    expect(text()).toContain("depth 5");
  });

  test("is removed from errors, their causes and what hangs on them", () => {
    const { log, text, lines } = fileLogger();
    const cause = Object.assign(new Error("refused"), {
      config: { headers: { [name]: "hunter2" } },
    });
    log.error(
      { err: Object.assign(new Error("failed", { cause }), { [name]: "hunter2" }) },
      "sent",
    );
    log.error({
      err: Object.assign(new Error("failed"), { config: { a: { [name]: "hunter2" } } }),
    });
    log.error(Object.assign(new Error("bare"), { response: { request: { [name]: "hunter2" } } }));
    log.error({ reasons: [Object.assign(new Error("listed"), { [name]: "hunter2" })] }, "sent");
    expect(lines().length).toBe(4);
    expect(text()).not.toContain("hunter2");
  });
});

test("credentials inside texts are removed: header lines and SOAP envelopes", () => {
  const { log, text } = fileLogger();
  const envelope = "<ws:wsLogin>me</ws:wsLogin><ws:wsPassword type='x'>hunter2</ws:wsPassword>";
  log.info(
    { request: `POST / HTTP/1.1\r\nAuthorization: Basic a2lvc2s6aHVudGVyMg==\r\n` },
    envelope,
  );
  expect(text()).not.toContain("hunter2");
  expect(text()).not.toContain("a2lvc2s6aHVudGVyMg");
  expect(text()).toContain("<ws:wsLogin>me");
});

test("an ordinary line keeps everything, with time, level and program", () => {
  const { log, lines } = fileLogger();
  const what = {
    orderId: "20261121-000123",
    amountMinor: 899,
    ok: true,
    none: null,
    list: [1, "b"],
  };
  log.warn({ ...what, at: new Date(0), id: 12n, bytes: Buffer.from("abc") }, "stored");
  const [line] = lines();
  expect(line).toMatchObject({ ...what, level: "warn", program: "tp-manager", msg: "stored" });
  expect(line).toMatchObject({ at: "1970-01-01T00:00:00.000Z", id: "12", bytes: "[3 bytes]" });
  expect(line?.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test("an error is logged with type, message, stack and every cause", () => {
  const { log, lines } = fileLogger();
  const error = new TypeError("outer", { cause: new Error("middle", { cause: "inner" }) });
  log.error({ err: error }, "failed");
  log.error(error);
  for (const line of lines()) {
    expect(line["err"]).toMatchObject({ type: "TypeError", message: "outer: middle" });
    expect((line["err"] as { stack: string }).stack).toMatch(
      /outer[\s\S]*caused by: Error: middle/,
    );
  }
  expect(lines()[1]?.msg).toBe("outer");
});

test("several errors in one, and an error that is its own cause, are logged", () => {
  const { log, text } = fileLogger();
  const own: Error & { cause?: unknown } = new Error("its own cause");
  own.cause = own;
  log.error({ err: new AggregateError([new Error("first"), own], "several") }, "failed");
  log.error({ err: own });
  expect(text()).toContain("several");
  expect(text()).toContain("first");
});

test("a request is logged by method and address only, never with its headers", () => {
  const { log, lines, text } = fileLogger();
  class Request {
    get method(): string {
      return "POST";
    }
    readonly url = "/payment";
    readonly headers = { authorization: "Basic aHVudGVyMg==" };
  }
  log.info({ req: new Request(), res: { statusCode: 200, headers: { a: "hunter2" } } }, "done");
  expect(lines()[0]).toMatchObject({
    req: { method: "POST", url: "/payment" },
    res: { statusCode: 200 },
  });
  expect(text()).not.toMatch(/hunter2|aHVudGVyMg/);
});

test.each(testCards)("card number %s never reaches the file, and the line stays JSON", (pan) => {
  const { log, lines, text } = fileLogger();
  log.info({ note: `card ${pan}`, [`key ${pan}`]: 1, deep: { list: [pan] } }, `read ${pan}`);
  log.info("read %s and %d", pan, Number(pan));
  log.info({ asNumber: Number(pan), asBigInt: BigInt(pan), list: [Number(pan)] });
  log.error({ err: new Error(`declined ${pan}`, { cause: new Error(`card ${pan}`) }) });
  log.child({ pan, card: pan, number: Number(pan) }).info("child");
  expect(lines().length).toBe(5);
  expect(text()).not.toContain(pan);
  expect(text()).toContain(pan.slice(0, 6));
});

test("a login in an address never reaches the file, and the address stays", () => {
  const { log, text } = fileLogger();
  const proxy = "http://kiosk:hunter2@proxy.example:3128";
  log.warn({ err: new Error(`Invalid proxy URL: ${proxy}`), proxy }, `no way to ${proxy}/`);
  expect(text()).not.toMatch(/hunter2|kiosk/);
  expect(text().match(/http:\/\/\[removed\]@proxy.example:3128/g)).toHaveLength(4);
});

test("a number with a fraction that happens to look like a card leaves the line JSON", () => {
  const { log, lines } = fileLogger();
  log.info({ uptimeMs: 5_105.105105105105, share: 0.4111111111111111 });
  expect(lines().length).toBe(1);
});

describe("a log call never throws", () => {
  const circular: Record<string, unknown> = { name: "me" };
  circular["self"] = circular;
  circular["list"] = [circular];
  const strange: Array<[string, object]> = [
    ["a BigInt", { big: 1n, deep: { big: 2n ** 80n } }],
    ["a circle", circular],
    ["a circle further down", { circular }],
    ["a getter that throws", Object.defineProperty({}, "x", { enumerable: true, get: thrower })],
    ["a toJSON that throws", { deep: { toJSON: thrower } }],
    ["a toJSON that returns itself", { deep: returnsItself() }],
    ["a proxy that refuses", { deep: new Proxy({}, { ownKeys: thrower }) }],
    ["an error with odd parts", { err: Object.assign(new Error("x"), { circular, big: 1n }) }],
    ["symbols and functions", { symbol: Symbol("s"), call: () => 1, none: undefined }],
    ["an invalid date", { at: new Date(Number.NaN) }],
    ["no prototype", Object.assign(Object.create(null), { a: 1 })],
    ["half a character", { text: "\ud800", "\udfff": 1 }],
    ["great depth", deep(5_000)],
  ];
  test.each(strange)("on %s", (_what, logged) => {
    const { log, lines } = fileLogger();
    log.info(logged, "strange");
    log.child({ logged }).error(logged, "strange");
    expect(lines().map(({ msg }) => msg)).toEqual(["strange", "strange"]);
  });

  test("on anything at all, and every line is JSON", () => {
    const { log, lines } = fileLogger();
    let calls = 0;
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true }), (value) => {
        log.info({ value }, "anything");
        calls++;
      }),
      { numRuns: 500, seed: 7 },
    );
    expect(lines().length).toBe(calls);
  });

  test.skipIf(!existsSync("/dev/full"))("on a full disk, which standard error reports once", () => {
    const heard = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => heard.mockRestore());
    const log = createLogger({ program: "tp-manager", level: "debug", file: "/dev/full" });
    for (let i = 0; i < 5; i++) log.info("approved");
    expect(heard.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(/^cannot write the log \/dev\/full: ENOSPC/),
    ]);
  });
});

test("the log and its folder are made, others cannot read it, lines are added at its end", () => {
  const { log, file, lines } = fileLogger();
  log.info("first");
  expect(statSync(file).mode & 0o137).toBe(0);
  createLogger({ program: "tp-manager", level: "debug", file }).info("second");
  log.info("third");
  expect(lines().map(({ msg }) => msg)).toEqual(["first", "second", "third"]);
});

test("the level can be raised later, and a stream in the foreground gets the same lines", () => {
  const file = join(temporaryFolder(), "x.log");
  const written: string[] = [];
  const stream = { write: (line: string) => void written.push(line) };
  const log = createLogger({ program: "supervisor", level: "debug", file, stream });
  log.debug("one");
  log.level = "warn";
  log.info("two");
  log.warn("three");
  expect(written.map((line) => (JSON.parse(line) as Line).msg)).toEqual(["one", "three"]);
  expect(readFileSync(file, "utf8")).toBe(written.join(""));
});

function thrower(): never {
  throw new Error("refuses");
}

function returnsItself(): object {
  const self = { a: 1, toJSON: (): object => self };
  return self;
}

function deep(levels: number): object {
  let value: object = { end: true };
  for (let i = 0; i < levels; i++) value = { value };
  return value;
}

test("the type of a log that reaches no operator refuses an alarm", () => {
  const { log, lines } = fileLogger();
  const plain: Logger = log;
  // @ts-expect-error: such an alarm would stand in the log file only
  plain.error({ alarm: "daily-chore" }, "a daily chore failed");
  // @ts-expect-error: only tapAlarms makes a log that is one for alarms
  const untapped: AlarmLog = plain;
  const raised: string[] = [];
  const tapped = tapAlarms(plain, ({ alarm }) => raised.push(alarm));
  tapped.error({ alarm: "daily-chore" }, "a daily chore failed");
  // @ts-expect-error: the table of alarms does not have the name
  tapped.error({ alarm: "unknown-name" }, "no alarm");
  expect(untapped).toBe(plain);
  expect(raised).toEqual(["daily-chore", "unknown-name"]);
  expect(lines().length).toBe(3);
});
