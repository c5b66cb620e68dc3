import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { runToEnd } from "../../support/programs/own-processes.ts";
import { hasTool } from "../../support/programs/tools.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";
import { listening, rawSocket } from "./listening.ts";
import { authorization } from "./rig.ts";

/** What a developer of kiosk software tries without having read all of the documentation. */

type Api = Awaited<ReturnType<typeof listening>>;

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4))[0];

/** Sends the lines and reads until the server closes. */
function send(api: Api, line: string, headers: readonly string[] = [], body: string | Buffer = "") {
  const all = [
    line,
    ...(headers.some((header) => /^host:/i.test(header)) ? [] : [`Host: localhost:${api.port}`]),
    `Authorization: ${authorization}`,
    "Connection: close",
    ...headers,
  ];
  const text = typeof body === "string" ? body : body.toString("latin1");
  return rawSocket(api.port, `${all.join("\r\n")}\r\n\r\n${text}`).ended;
}

const json = (body: string | Buffer): string[] => [
  "Content-Type: application/json",
  `Content-Length: ${Buffer.byteLength(body)}`,
];
const order = '{"amount":1.00,"orderId":"A-1"}';

describe("a wrong request gets a clear answer", () => {
  test.each([
    ["PUT /payment", 405, "METHOD_NOT_ALLOWED"],
    ["DELETE /payment/A-1", 405, "METHOD_NOT_ALLOWED"],
    ["OPTIONS /payment", 405, "METHOD_NOT_ALLOWED"],
    ["POST /check", 405, "METHOD_NOT_ALLOWED"],
    ["POST /payments", 405, "METHOD_NOT_ALLOWED"],
    ["GET /delivery", 405, "METHOD_NOT_ALLOWED"],
    ["GET /gateway/refund", 405, "METHOD_NOT_ALLOWED"],
    ["GET /nothing", 404, "NOT_FOUND"],
    ["GET /favicon.ico", 404, "NOT_FOUND"],
    ["GET /payment/A-1", 404, "ORDER_NOT_FOUND"],
    ["GET /payments?limit=0", 400, "REQUEST_INVALID"],
    ["POST /payment", 400, "BODY_NOT_JSON"],
    ["GET /cancel", 409, "NOTHING_TO_CANCEL"],
    ["POST /cancel", 409, "NOTHING_TO_CANCEL"],
  ])("%s: %s %s", async (line, http, code) => {
    const api = await listening();
    const answer = await send(api, `${line} HTTP/1.1`);
    expect([statusOf(answer), bodyOf(answer).error.code]).toEqual([http, code]);
    expect(/^allow: /im.test(answer)).toBe(http === 405);
  });

  test("with HEAD gets the status without a body", async () => {
    const api = await listening();
    const answer = await send(api, "HEAD /payment HTTP/1.1");
    expect([statusOf(answer), answer.split("\r\n\r\n")[1]]).toEqual([405, ""]);
  });

  test.each([
    ["/CHECK", "/check"],
    ["/check/", "/check"],
    ["//check", "/check"],
    ["/Payment/", "/payment"],
  ])("to %s names the right path %s", async (wrong, right) => {
    const api = await listening();
    const { error } = bodyOf(await send(api, `POST ${wrong} HTTP/1.1`, json(order), order));
    expect(error.code).toBe("NOT_FOUND");
    expect(error.message).toMatch(new RegExp(`: ${right}$`));
    expect(api.at.terminal.paid).toEqual([]);
  });
});

describe("a payment is accepted", () => {
  const paid = (answer: string) => [statusOf(answer), bodyOf(answer).status];

  test("when it is sent in chunks", async () => {
    const api = await listening();
    const chunks = [...order].map((one) => `1\r\n${one}\r\n`).join("");
    const headers = ["Content-Type: application/json", "Transfer-Encoding: chunked"];
    const answer = await send(api, "POST /payment HTTP/1.1", headers, `${chunks}0\r\n\r\n`);
    expect(paid(answer)).toEqual([200, "Success"]);
  });

  test("after 100-continue", async () => {
    const api = await listening();
    const headers = [...json(order), "Expect: 100-continue"];
    const answer = await send(api, "POST / HTTP/1.1", headers, order);
    const [first, second = ""] = answer.split(/(?<=\r\n\r\n)(?=HTTP)/);
    expect(first).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    expect(paid(second)).toEqual([200, "Success"]);
  });

  test("with HTTP/1.0, and its connection is closed", async () => {
    const api = await listening();
    const answer = await send(api, "POST /payment HTTP/1.0", json(order), order);
    expect(paid(answer)).toEqual([200, "Success"]);
  });

  test("to [::1], and with a Host in capitals", async () => {
    const api = await listening();
    for (const host of [`[::1]:${api.port}`, `LOCALHOST:${api.port}`, `127.0.0.1:${api.port}`]) {
      const answer = await send(api, "GET /version HTTP/1.1", [`Host: ${host}`]);
      expect([host, statusOf(answer)]).toEqual([host, 200]);
    }
  });

  test("three times on one connection, charged once, with three answers in order", async () => {
    const api = await listening();
    const one = (id: string): string => {
      const body = `{"amount":1,"orderId":"${id}"}`;
      const head = `Host: localhost:${api.port}\r\nAuthorization: ${authorization}`;
      return `POST /payment HTTP/1.1\r\n${head}\r\n${json(body).join("\r\n")}\r\n\r\n${body}`;
    };
    api.at.terminal.script = async (sale, observer) => {
      await new Promise((resolve) => setImmediate(resolve));
      return approves(sale, observer);
    };
    const { received } = api.raw(`${one("A-1")}${one("A-1")}${one("A-1")}`);
    await expect.poll(() => received().split('"status":"Success"').length).toBe(4);
    expect(api.at.terminal.paid).toHaveLength(1);
  });

  test("but not compressed, with a message that says so", async () => {
    const api = await listening();
    const packed = gzipSync(order);
    const headers = [...json(packed), "Content-Encoding: gzip"];
    const answer = await send(api, "POST /payment HTTP/1.1", headers, packed);
    expect([statusOf(answer), bodyOf(answer).error.message]).toEqual([
      415,
      "The body must not be compressed.",
    ]);
  });
});

describe("a POST that needs no body", () => {
  test.each([
    [["Content-Length: 0"]],
    [["Content-Length: 0", "Content-Type: application/json"]],
    [["Content-Length: 0", "Content-Type: application/x-www-form-urlencoded"]],
    [["Content-Type: application/json"]],
    [["Content-Type: application/json", "Transfer-Encoding: chunked", "X-Chunks: none"]],
  ])("is accepted with %s", async (headers) => {
    const api = await listening();
    const body = headers.length === 3 ? "0\r\n\r\n" : "";
    const answer = await send(api, "POST /cancel HTTP/1.1", headers, body);
    expect([statusOf(answer), bodyOf(answer).error.code]).toEqual([409, "NOTHING_TO_CANCEL"]);
  });

  test("is refused with a form in it", async () => {
    const api = await listening();
    const headers = ["Content-Length: 3", "Content-Type: application/x-www-form-urlencoded"];
    const answer = await send(api, "POST /cancel HTTP/1.1", headers, "a=1");
    expect([statusOf(answer), bodyOf(answer).error.code]).toEqual([415, "CONTENT_TYPE_REFUSED"]);
  });
});

test.skipIf(!hasTool("curl"))(
  "curl gets its answer without a body, with an empty body and with a JSON body",
  async () => {
    const api = await listening();
    const curl = async (...args: string[]): Promise<string> => {
      const always = ["-sS", "-u", "kiosk:secret", "-w", "%{http_code}", "-o", "/dev/null"];
      const url = `http://localhost:${api.port}${args.at(-1)}`;
      return (await runToEnd("curl", [...always, ...args.slice(0, -1), url])).stdout;
    };
    expect(await curl("-X", "POST", "/cancel")).toBe("409");
    expect(await curl("-d", "", "/cancel")).toBe("409");
    expect(await curl("-H", "content-type: application/json", "-d", order, "/payment")).toBe("200");
    expect(await curl("/payment/A-1")).toBe("200");
  },
);
