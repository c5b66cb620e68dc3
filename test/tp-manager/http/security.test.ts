import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { Connections } from "../../../src/shared/ipc/connections.ts";
import { readBody } from "../../../src/tp-manager/http/body/json-body.ts";
import { FailureDelay } from "../../../src/tp-manager/http/door/failure-delay.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { house } from "../../support/house/payment-house.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";
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

  test("HEAD, OPTIONS, TRACE, DELETE and CONNECT get 405 and change nothing", async () => {
    const api = await listening();
    for (const method of ["HEAD", "OPTIONS", "TRACE", "DELETE", "PATCH"]) {
      expect([method, statusOf(await exchange(api, get(api, "/stop", method)))]).toEqual([
        method,
        405,
      ]);
    }
    const tunnel = await exchange(api, ["CONNECT evil.test:443 HTTP/1.1", "Host: evil.test:443"]);
    expect([statusOf(tunnel), bodyOf(tunnel).error.code]).toEqual([405, "METHOD_NOT_ALLOWED"]);
    expect(api.at.arbiter.lease.stopping.aborted).toBe(false);
  });

  test("a WebSocket is never opened, neither with nor without the right origin", async () => {
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

  test("a body with charset UTF-8 is accepted, a compressed one is refused", async () => {
    const api = await listening();
    const body = '{"amount":1,"orderId":"A-1"}';
    const named = post(api, body, "application/json; charset=UTF-8");
    expect(statusOf(await exchange(api, named, body))).toBe(200);
    const packed = [...post(api, body), "Content-Encoding: gzip"];
    expect(statusOf(await exchange(api, packed, body))).toBe(415);
  });

  test("a body above 64 KiB, headers above 16 KiB and anything but HTTP are refused", async () => {
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
    const { server } = api.app;
    expect([server.headersTimeout, server.requestTimeout]).toEqual([5_000, 10_000]);
    Object.assign(server, { headersTimeout: 500, requestTimeout: 1_000 });
    const slowHead = api.raw(`GET /version HTTP/1.1\r\nHost: localhost:${api.port}\r\n`);
    const slowBody = api.raw(`${post(api, "x".repeat(50)).join("\r\n")}\r\n\r\n{`);
    expect((await api.get("/version")).status).toBe(200);
    const head = await slowHead.ended;
    expect([statusOf(head), bodyOf(head).error.code]).toEqual([408, "REQUEST_TOO_SLOW"]);
    expect(statusOf(await slowBody.ended)).toBe(408);
    expect(api.at.terminal.paid).toEqual([]);
  });

  test("garbage that follows a running payment gets no answer, the payment goes on", async () => {
    const api = await listening();
    const blocked = Promise.withResolvers<void>();
    api.at.terminal.script = async (order, observer) => {
      await blocked.promise;
      return approves(order, observer);
    };
    const body = '{"amount":1,"orderId":"A-1"}';
    const kiosk = api.raw(`${post(api, body).join("\r\n")}\r\n\r\n${body}`);
    await expect.poll(() => api.at.terminal.paid.length).toBe(1);
    kiosk.socket.write("\x16\x03\x01 not HTTP\r\n\r\n");
    expect(await kiosk.ended).toBe("");
    blocked.resolve();
    await expect
      .poll(async () => ((await (await api.get("/payment/A-1")).json()) as [{ status: string }])[0])
      .toMatchObject({ status: "Success" });
  });

  test("only the loopback addresses are listened on, with the same limits", async () => {
    const api = await listening();
    const answer = await exchange(api, get(api, "/version"), "", "::1").catch(() => "");
    if (answer !== "") expect(statusOf(answer)).toBe(200);
    const long = await exchange(api, [...get(api), `X: ${"x".repeat(20_000)}`], "", "::1");
    if (long !== "") expect(statusOf(long)).toBe(431);
    expect(api.app.addresses()).toMatchObject([{ address: "127.0.0.1" }]);
  });
});

describe("the slow-down after failures", () => {
  const here = new AbortController().signal;
  /** How long the answer to one wrong login is delayed. */
  const guess = async (delay: FailureDelay, clock: TestClock, login = "kiosk") => {
    let done = false;
    const answer = delay.wait(login, here).then((waited) => {
      done = true;
      return waited;
    });
    let waitedMs = 0;
    for (; !done && waitedMs < 10_000; waitedMs += 100) await clock.advance(100);
    expect(await answer).toBe(true);
    return waitedMs;
  };

  test("grows to five seconds", async () => {
    const clock = new TestClock();
    const delay = new FailureDelay(clock);
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) waits.push(await guess(delay, clock));
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  test("counts for each login apart and is forgotten after a minute", async () => {
    const clock = new TestClock();
    const delay = new FailureDelay(clock);
    for (let i = 0; i < 5; i++) await guess(delay, clock);
    expect(await guess(delay, clock, "other")).toBe(100);
    await clock.advance(60_000);
    expect(await guess(delay, clock)).toBe(100);
  });

  test("stays for a login through a flood of other logins, which share one count", async () => {
    const clock = new TestClock();
    const delay = new FailureDelay(clock);
    for (let i = 0; i < 5; i++) await guess(delay, clock);
    const gone = AbortSignal.abort();
    for (let i = 0; i < 1_000; i++) await delay.wait(`other ${i}`, gone);
    expect(await guess(delay, clock)).toBe(3_200);
    expect(await guess(delay, clock, "never seen")).toBe(5_000);
  });

  test("lets at most 64 requests wait, and none whose client is gone", async () => {
    const clock = new TestClock();
    const delay = new FailureDelay(clock);
    const gone = new AbortController();
    const guesses = Array.from({ length: 500 }, () => delay.wait("kiosk", gone.signal));
    expect(clock.running.length).toBe(64);
    gone.abort();
    const waited = await Promise.all(guesses);
    expect(waited.filter(Boolean)).toHaveLength(64);
    expect(clock.running).toEqual([]);
    expect(await guess(delay, clock)).toBe(5_000);
  });

  test("delays a wrong login, not the right one, whose success resets nothing", async () => {
    const at = house();
    const api = await listening({ clock: at.clock }, at);
    const wrong = { authorization: `Basic ${btoa("kiosk:guessed")}` };
    for (const delayMs of [100, 200, 400]) {
      let status = 0;
      const answer = api.get("/version", { headers: wrong }).then((response) => {
        status = response.status;
      });
      await expect.poll(() => at.clock.running).toContain("failed authentication");
      expect((await api.get("/version")).status).toBe(200);
      await at.clock.advance(delayMs - 1);
      expect(status).toBe(0);
      await at.clock.advance(1);
      await answer;
      expect(status).toBe(401);
    }
  });

  test("refuses more waiting failures than 64 with 429 and an error code", async () => {
    const at = house();
    const api = await listening({ clock: at.clock }, at);
    const head = `GET / HTTP/1.1\r\nHost: localhost:${api.port}\r\n`;
    const wrong = `${head}Authorization: Basic ${btoa("kiosk:guessed")}\r\n\r\n`;
    const guesses = Array.from({ length: 64 }, () => api.raw(wrong));
    const waiting = () => at.clock.running.filter((name) => name === "failed authentication");
    await expect.poll(() => waiting().length).toBe(64);
    const answer = await api.raw(wrong).ended;
    expect([statusOf(answer), bodyOf(answer).error.code]).toEqual([429, "TOO_MANY_FAILURES"]);
    expect(answer).toMatch(/^retry-after: 5\r$/im);
    expect((await api.get("/version")).status).toBe(200);
    for (const { socket } of guesses) socket.destroy();
    await expect.poll(() => waiting()).toEqual([]);
  });
});

describe("the limit of connections", () => {
  test("closes the oldest idle ones first, and a payment goes through", async () => {
    const api = await listening();
    const idle = Array.from({ length: 300 }, () => api.raw());
    const closed = new Set<number>();
    for (const [i, { ended }] of idle.entries()) void ended.then(() => closed.add(i));
    await expect.poll(() => closed.size).toBeGreaterThanOrEqual(300 - 256);
    const body = '{"amount":1,"orderId":"A-1"}';
    expect(statusOf(await exchange(api, post(api, body), body))).toBe(200);
    await expect.poll(() => closed.size).toBe(301 - 256);
    expect([...closed]).toEqual(Array.from({ length: 301 - 256 }, (_, i) => i));
  });

  test("closes none that had the right credentials, nor one with a running payment", async () => {
    const api = await listening();
    const blocked = Promise.withResolvers<void>();
    api.at.terminal.script = async (order, observer) => {
      await blocked.promise;
      return approves(order, observer);
    };
    const body = '{"amount":1,"orderId":"A-1"}';
    const kiosk = api.raw(
      `${[...post(api, body), "Connection: close"].join("\r\n")}\r\n\r\n${body}`,
    );
    const kept = api.raw(`${get(api).join("\r\n")}\r\n\r\n`);
    await expect.poll(() => kept.received()).toContain('"tpa"');
    for (let i = 0; i < 600; i++) api.raw();
    await expect.poll(() => api.app.connections.size).toBe(256);
    kept.socket.write(`${get(api).join("\r\n")}\r\n\r\n`);
    await expect.poll(() => kept.received().split('"tpa"').length).toBe(3);
    blocked.resolve();
    expect(bodyOf(await kiosk.ended)).toMatchObject({ status: "Success", orderId: "A-1" });
  });

  test("a stop waits for running answers and closes all other connections", async () => {
    const api = await listening();
    const blocked = Promise.withResolvers<void>();
    api.at.terminal.script = async (order, observer) => {
      await blocked.promise;
      return approves(order, observer);
    };
    const whole = (lines: readonly string[], body = "") => `${lines.join("\r\n")}\r\n\r\n${body}`;
    const body = '{"amount":1,"orderId":"A-1"}';
    const paying = api.raw(whole(post(api, body), body));
    // One is opened ahead by a browser, one is answered already, and two are amid a request.
    const idle = [
      api.raw(),
      api.raw(whole(get(api))),
      api.raw("GET /version HTTP/1.1\r\n"),
      api.raw(whole(post(api, body), '{"amount"')),
    ];
    await expect.poll(() => api.app.connections.size).toBe(5);
    await expect.poll(() => idle[1]?.received()).toContain('"tpa"');
    await expect.poll(() => api.at.terminal.paid.length).toBe(1);
    const closing = api.close();
    await Promise.all(idle.map(({ ended }) => ended));
    expect(paying.received()).toBe("");
    blocked.resolve();
    const answer = await paying.ended;
    expect(bodyOf(answer)).toMatchObject({ status: "Success", orderId: "A-1" });
    await closing;
  });

  test("refuses the next one while every other one runs a trusted request", () => {
    const connections = new Connections({ total: 2 });
    const [a, b, c] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const response = (socket: PassThrough) =>
      Object.assign(new EventEmitter(), { req: { socket } }) as unknown as ServerResponse;
    const running = [a, b].map(response);
    for (const [i, socket] of [a, b].entries()) {
      expect(connections.admit(socket)).toBe(true);
      connections.trust(socket);
      connections.begin(running[i] as ServerResponse);
    }
    expect(connections.admit(c)).toBe(false);
    running[1]?.emit("close");
    expect(connections.admit(c)).toBe(true);
    expect([a.destroyed, b.destroyed, connections.size]).toEqual([false, true, 2]);
  });
});

test.each([
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}', undefined],
  ['{"a":"\\"a\\":1","b":"{\\"a\\":1,\\"a\\":2}"}', undefined],
  ['{"a":{"x":1,"y":[],"x":2}}', "x"],
  ['{"a" :1,"a"\n:2}', "a"],
  ['{"":1,"":2}', ""],
])("the first repeated key of %s is %s", (json, key) => {
  const refused = `The body names ${JSON.stringify(key)} twice.`;
  const read = () => readBody(Buffer.from(json), {});
  if (key === undefined) expect(read()).toEqual(JSON.parse(json));
  else expect(read).toThrow(refused);
});
