import { describe, expect, test } from "vitest";
import { Credentials } from "../../../src/tp-manager/http/credentials.ts";
import { duplicateKeyIn } from "../../../src/tp-manager/http/duplicate-keys.ts";
import { approves } from "../../support/scripted-terminal.ts";
import { TestClock } from "../../support/test-clock.ts";
import { listening, rawSocket } from "./listening.ts";
import { authorization } from "./rig.ts";

type Api = Awaited<ReturnType<typeof listening>>;

/** One request over a raw socket; the answer until the server closes. */
function exchange(api: Api, lines: readonly string[], body = "", host = "127.0.0.1") {
  const head = [...lines, "Connection: close", "", body].join("\r\n");
  return rawSocket(api.port, head, host).ended;
}

const post = (api: Api, body: string, type = "application/json") => [
  "POST /payment HTTP/1.1",
  `Host: localhost:${api.port}`,
  `Authorization: ${authorization}`,
  `Content-Type: ${type}`,
  `Content-Length: ${Buffer.byteLength(body, "latin1")}`,
];
const get = (api: Api, path = "/version", method = "GET") => [
  `${method} ${path} HTTP/1.1`,
  `Host: localhost:${api.port}`,
  `Authorization: ${authorization}`,
];

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4))[0];

describe("over a real socket", () => {
  test("every answer carries the security headers and no banner", async () => {
    const api = await listening();
    for (const path of ["/version", "/nothing", "/metrics", "/%zz"]) {
      const answer = await exchange(api, get(api, path));
      expect(answer).toMatch(/^x-content-type-options: nosniff/im);
      expect(answer).toMatch(/^x-frame-options: DENY/im);
      expect(answer).toMatch(/^cache-control: no-store/im);
      expect(answer).toMatch(/^content-security-policy: default-src 'none'/im);
      expect(answer).not.toMatch(/^(server|x-powered-by):/im);
    }
  });

  test("a missing, doubled or foreign Host is refused before anything else", async () => {
    const api = await listening();
    const [line = "", host = "", auth = ""] = get(api);
    for (const lines of [
      [line, auth],
      [line, host, host, auth],
      [line, host, "Host: evil.test", auth],
      [line, "Host: evil.test", auth],
      [line, `Host: localhost:${api.port}.evil.test`, auth],
    ]) {
      const answer = await exchange(api, lines);
      expect([statusOf(answer), bodyOf(answer).error.code]).toEqual([403, "HOST_REFUSED"]);
    }
  });

  test("doubled credentials and origins are refused", async () => {
    const api = await listening();
    for (const extra of [`Authorization: Basic ${btoa("a:b")}`, "Origin: a\r\nOrigin: b"]) {
      expect(statusOf(await exchange(api, [...get(api), extra]))).toBe(403);
    }
  });

  test("HEAD, OPTIONS, TRACE, DELETE and a tunnel get 405 or less, and never act", async () => {
    const api = await listening();
    for (const method of ["HEAD", "OPTIONS", "TRACE", "DELETE", "PATCH"]) {
      expect([method, statusOf(await exchange(api, get(api, "/stop", method)))]).toEqual([
        method,
        405,
      ]);
    }
    const tunnel = await exchange(api, ["CONNECT evil.test:443 HTTP/1.1", "Host: evil.test:443"]);
    expect([statusOf(tunnel), bodyOf(tunnel).error.code]).toEqual([405, "METHOD_NOT_ALLOWED"]);
    expect(api.at.payments.turn.closed).toBe(false);
  });

  test("a WebSocket is never opened, whoever asks", async () => {
    const api = await listening();
    const upgrade = [
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    const own = await exchange(api, [...get(api, "/events"), ...upgrade, "Last-Event-ID: x"]);
    expect(statusOf(own)).toBe(400);
    const foreign = await exchange(api, [...get(api), ...upgrade, "Origin: https://evil.test"]);
    expect(bodyOf(foreign).error.code).toBe("ORIGIN_REFUSED");
  });

  test("a cross-site form reaches nothing", async () => {
    const api = await listening();
    const form = post(api, "amount=1", "application/x-www-form-urlencoded");
    const answer = await exchange(api, [...form, "Origin: https://evil.test"], "amount=1");
    expect(statusOf(answer)).toBe(403);
    expect(statusOf(await exchange(api, form, "amount=1"))).toBe(415);
    const disguised = '{"amount":1}';
    const plain = post(api, disguised, "text/plain");
    expect(statusOf(await exchange(api, plain, disguised))).toBe(415);
    expect(api.at.terminal.paid).toEqual([]);
  });

  test.each([
    ['{"amount":1,"amount":2}', "application/json", 400, /names "amount" twice/],
    ['{"amount":1,"\\u0061mount":2}', "application/json", 400, /names "amount" twice/],
    ['{"amount":1,"customData":{"a":1,"a":1}}', "application/json", 400, /names "a" twice/],
    ['{"amount":1}', "application/json; charset=iso-8859-1", 415, /UTF-8/],
    ['{"amount":1}', 'application/json; charset="UTF-16"', 415, /UTF-8/],
    ['{"amount":1,"orderId":"\xe4"}', "application/json", 400, /not UTF-8/],
    ["\xff\xfe{\0}\0", "application/json", 400, /not UTF-8/],
  ])("refuses the body %s as %s", async (body, type, status, message) => {
    const api = await listening();
    const answer = await exchange(api, post(api, body, type), body);
    expect(statusOf(answer)).toBe(status);
    expect(bodyOf(answer).error.message).toMatch(message);
    expect(api.at.terminal.paid).toEqual([]);
  });

  test("takes UTF-8 under its name, and a compressed body never", async () => {
    const api = await listening();
    const body = '{"amount":1,"orderId":"A-1"}';
    const named = post(api, body, "application/json; charset=UTF-8");
    expect(statusOf(await exchange(api, named, body))).toBe(200);
    const packed = [...post(api, body), "Content-Encoding: gzip"];
    expect(statusOf(await exchange(api, packed, body))).toBe(415);
  });

  test("a body above 64 KiB, headers above 16 KiB and no HTTP at all are refused", async () => {
    const api = await listening();
    const large = `{"amount":1,"orderId":"${"x".repeat(70_000)}"}`;
    expect(bodyOf(await exchange(api, post(api, large), large)).error.code).toBe("BODY_TOO_LARGE");
    const long = await exchange(api, [...get(api), `X: ${"x".repeat(20_000)}`]);
    expect([statusOf(long), bodyOf(long).error.code]).toEqual([431, "HEADERS_TOO_LARGE"]);
    for (const text of ["\x16\x03\x01\x02\x00\x01\x00", "GET\r\n\r\n", "SSH-2.0-x\r\n"]) {
      const answer = await api.raw(text).ended;
      expect([statusOf(answer), bodyOf(answer).error.code]).toEqual([400, "REQUEST_INVALID"]);
    }
    const smuggled = [...post(api, "x"), "Transfer-Encoding: chunked"];
    expect(statusOf(await exchange(api, smuggled, "0\r\n\r\nGET / HTTP/1.1\r\n\r\n"))).toBe(400);
  });

  test("a request that never ends is cut, and others are served meanwhile", async () => {
    const api = await listening();
    const slowHead = api.raw(`GET /version HTTP/1.1\r\nHost: localhost:${api.port}\r\n`);
    const slowBody = api.raw(`${post(api, "x".repeat(50)).join("\r\n")}\r\n\r\n{`);
    expect((await api.get("/version")).status).toBe(200);
    const head = await slowHead.ended;
    expect([statusOf(head), bodyOf(head).error.code]).toEqual([408, "REQUEST_TOO_SLOW"]);
    expect(statusOf(await slowBody.ended)).toBe(408);
    expect(api.at.terminal.paid).toEqual([]);
  });

  test("garbage behind a running payment is never answered as if it were the payment", async () => {
    const api = await listening();
    const gate = Promise.withResolvers<void>();
    api.at.terminal.script = async (order, observer) => {
      await gate.promise;
      return approves(order, observer);
    };
    const body = '{"amount":1,"orderId":"A-1"}';
    const kiosk = api.raw(`${post(api, body).join("\r\n")}\r\n\r\n${body}`);
    await expect.poll(() => api.at.terminal.paid.length).toBe(1);
    kiosk.socket.write("\x16\x03\x01 not HTTP\r\n\r\n");
    expect(await kiosk.ended).toBe("");
    gate.resolve();
    await expect
      .poll(async () => ((await (await api.get("/payment/A-1")).json()) as [{ status: string }])[0])
      .toMatchObject({ status: "Success" });
  });

  test("listens on the loopback addresses with the same limits, and on no other", async () => {
    const api = await listening();
    const answer = await exchange(api, get(api, "/version"), "", "::1").catch(() => "");
    if (answer !== "") expect(statusOf(answer)).toBe(200);
    const long = await exchange(api, [...get(api), `X: ${"x".repeat(20_000)}`], "", "::1");
    if (long !== "") expect(statusOf(long)).toBe(431);
    expect(api.app.addresses()).toMatchObject([{ address: "127.0.0.1" }]);
  });
});

describe("the slow-down after failures", () => {
  const kiosk = { login: "kiosk", password: "secret" };
  const guess = async (credentials: Credentials, clock: TestClock, login = "kiosk") => {
    let done = false;
    const answer = credentials.roleOf(login, "wrong", "127.0.0.1").then((role) => {
      done = true;
      return role;
    });
    let waitedMs = 0;
    for (; !done && waitedMs < 10_000; waitedMs += 100) await clock.advance(100);
    expect(await answer).toBeUndefined();
    return waitedMs;
  };

  test("grows to five seconds and is not reset by the kiosk's own good calls", async () => {
    const clock = new TestClock();
    const credentials = new Credentials(kiosk, undefined, clock);
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      waits.push(await guess(credentials, clock));
      expect(await credentials.roleOf("kiosk", "secret", "127.0.0.1")).toBe("kiosk");
    }
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  test("is each client's own and is forgotten after a minute", async () => {
    const clock = new TestClock();
    const credentials = new Credentials(kiosk, undefined, clock);
    for (let i = 0; i < 5; i++) await guess(credentials, clock);
    expect(await guess(credentials, clock, "other")).toBe(100);
    await clock.advance(60_000);
    expect(await guess(credentials, clock)).toBe(100);
  });

  test("never delays the kiosk, whatever else goes on", async () => {
    const clock = new TestClock();
    const credentials = new Credentials(kiosk, undefined, clock);
    const guesses = Array.from({ length: 500 }, () =>
      credentials.roleOf("kiosk", "wrong", "127.0.0.1"),
    );
    expect(await credentials.roleOf("kiosk", "secret", "127.0.0.1")).toBe("kiosk");
    expect(clock.running.length).toBeLessThanOrEqual(64);
    await clock.advance(5_000);
    expect(await Promise.all(guesses)).not.toContain("kiosk");
  });
});

test.each([
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}', undefined],
  ['{"a":"\\"a\\":1","b":"{\\"a\\":1,\\"a\\":2}"}', undefined],
  ['{"a":{"x":1,"y":[],"x":2}}', "x"],
  ['{"a" :1,"a"\n:2}', "a"],
  ['{"":1,"":2}', ""],
])("the first doubled key of %s is %s", (json, key) => {
  expect(duplicateKeyIn(json)).toBe(key);
});
