import { createConnection } from "node:net";
import { hostname } from "node:os";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ownTimeOf } from "../../../support/clocks/own-time.ts";
import { asSlow } from "../../../support/clocks/patience.ts";
import { heapInUse, objectPrototype } from "../../../support/heap/heap.ts";
import { hostileDocuments, xmlMakers } from "../../../support/inputs/hostile-documents.ts";
import { postsTo } from "../../../support/programs/kept-connections.ts";
import { isWhole } from "../../../support/run/scope.ts";
import type { GatewaySandbox } from "../sandbox-for-test.ts";
import {
  elements,
  generate,
  orderBody,
  orderRequest,
  sandboxForTest,
  soapRequest,
} from "../sandbox-for-test.ts";

const AT_A_TIME = 8;
const MUTATED = isWhole ? 4_000 : 400;
const PATH = "/soap/payment-v2";
const XML = { "content-type": "text/xml" };

const send = (sandbox: GatewaySandbox, body: string | Buffer, path = PATH) =>
  fetch(sandbox.url + path, { method: "POST", body, headers: XML });

test("many mutated requests are answered, and the sandbox goes on", async () => {
  const sandbox = await sandboxForTest();
  const good = Buffer.from(orderBody);
  const piece = fc.oneof(
    fc.constantFrom("<", ">", "&", "&#x0;", "]]>", "<![CDATA[", "<!--", "<?x", "\0", "\u00ff"),
    fc.constantFrom("<!DOCTYPE a>", "&e;", 'xmlns=""', "<parameters>", "</e:Body>", "\r\n"),
    fc.string({ maxLength: 8 }),
  );
  const change = fc.tuple(fc.nat(good.length), fc.nat(40), piece);
  const mutated = fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) =>
      changes.reduce(
        (bytes, [at, remove, insert]) =>
          Buffer.concat([
            bytes.subarray(0, at),
            Buffer.from(insert),
            bytes.subarray(Math.min(at + remove, bytes.length)),
          ]),
        good,
      ),
    );
  const counts = new Map<number, number>();
  const documents = fc.sample(mutated, { numRuns: MUTATED, seed: 11 });
  const post = postsTo(sandbox.port, AT_A_TIME);
  const workers = Array.from({ length: AT_A_TIME }, async () => {
    for (let next = documents.pop(); next; next = documents.pop()) {
      const { status, text } = await post(PATH, XML, next);
      if (!text.includes("Result>")) expect(text).toContain("<SOAP-ENV:Fault>");
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
  });
  await Promise.all(workers);
  expect([...counts.keys()].sort()).toEqual([200, 500]);
  expect(counts.get(500)).toBeGreaterThan(isWhole ? 3_200 : 320);
  expect((await generate(sandbox)).result["code"]).toBe("0");
});

/** Elsewhere than in the whole scope each kind of damage comes ten times at least. */
const DOCUMENTS = isWhole ? 10_000 : 400;
const HEAP_GROWTH_MAX = (isWhole ? 10 : 4) * 1024 * 1024;

test("malformed documents of every kind leave nothing on the heap", async () => {
  const sandbox = await sandboxForTest();
  const prototype = objectPrototype();
  const inTheResult = expect.stringContaining("<generateResult>");
  const documents = hostileDocuments(xmlMakers, () => orderBody, DOCUMENTS, 12);
  const counts: Record<number, number> = {};
  let answered = 0;
  let before = 0;
  const machine = hostname();
  const post = postsTo(sandbox.port, AT_A_TIME);
  const workers = Array.from({ length: AT_A_TIME }, async () => {
    for (const { kind, bytes } of documents) {
      const { status, text } = await post(PATH, XML, bytes);
      if (status !== 500) expect([status, text], kind).toEqual([200, inTheResult]);
      // A person who reads the answer learns nothing of the machine.
      if (text.includes(machine)) expect(text, kind).not.toContain(machine);
      counts[status] = (counts[status] ?? 0) + 1;
      if (++answered === DOCUMENTS / 10) before = heapInUse();
    }
  });
  await Promise.all(workers);
  expect(counts[500]).toBeGreaterThan(DOCUMENTS / 2);
  expect(heapInUse() - before).toBeLessThan(HEAP_GROWTH_MAX);
  expect(objectPrototype()).toEqual(prototype);
  expect((await generate(sandbox)).result["code"]).toBe("0");
});

test("other content types and encodings of the transport are refused", async () => {
  const sandbox = await sandboxForTest();
  const gzipped = gzipSync(orderBody);
  const refused: ReadonlyArray<readonly [Record<string, string>, string | Buffer, number]> = [
    [{ "content-type": "application/json" }, orderBody, 415],
    [{ "content-type": "application/x-www-form-urlencoded" }, `xml=${orderBody}`, 415],
    [{ "content-type": "multipart/related; boundary=x" }, orderBody, 415],
    [{ "content-type": "text/xml; charset=utf-16" }, Buffer.from(orderBody, "utf16le"), 415],
    [{ "content-type": "text/xml; charset=iso-8859-1" }, orderBody, 415],
    [{ "content-type": "text/xml", "content-encoding": "gzip" }, gzipped, 415],
    [{ "content-type": "text/xml" }, gzipped, 500],
    [{ "content-type": "text/xml" }, Buffer.from(`\uFEFF${orderBody}`, "utf16le"), 500],
  ];
  for (const [headers, body, status] of refused) {
    const url = `${sandbox.url}/soap/payment-v2`;
    const response = await fetch(url, {
      method: "POST",
      headers,
      body: new Uint8Array(Buffer.from(body)),
    });
    expect([headers, response.status]).toEqual([headers, status]);
    expect(await response.text()).toContain("<SOAP-ENV:Fault>");
  }
  expect(sandbox.orders()).toEqual([]);
});

test("documents that grow, nest or repeat are refused quickly and cost no memory", async () => {
  const sandbox = await sandboxForTest();
  const laughs = Array.from({ length: 20 }, (_, i) => `<!ENTITY l${i + 1} "&l${i};&l${i};">`);
  const hostile = [
    `<!DOCTYPE a [<!ENTITY l0 "lol">${laughs.join("")}]><a>&l20;</a>`,
    '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/evil.dtd"><a/>',
    "<a>".repeat(60_000),
    `<a ${"x".repeat(200_000)}="1"/>`,
    `<a ${Array.from({ length: 20_000 }, (_, i) => `a${i}="1"`).join(" ")}/>`,
    `<a>${"&amp;".repeat(45_000)}</a>`,
    `<a>${"<b/>".repeat(60_000)}</a>`,
    `<a>${"<![CDATA[".repeat(20_000)}`,
    `${"<!-- ".repeat(40_000)}`,
    `<${"a:".repeat(100_000)}/>`,
    soapRequest("payment-v2", "generate", elements(orderRequest).repeat(300)),
    soapRequest("payment-v2", "generate", `<description>${"<".repeat(100_000)}`),
  ];
  const before = process.memoryUsage().rss;
  const tookMs = await ownTimeOf([], async () => {
    for (const body of hostile.flatMap((one) => (isWhole ? [one, one, one] : [one]))) {
      const response = await send(sandbox, body);
      expect([body.slice(0, 20), response.status]).toEqual([body.slice(0, 20), 500]);
      await response.text();
    }
  });
  expect(tookMs).toBeLessThan(asSlow(15_000));
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  expect(sandbox.orders()).toEqual([]);
});

test("hostile JSON is refused with a readable reason", async () => {
  const sandbox = await sandboxForTest();
  const bodies = [
    "[".repeat(100_000),
    '{"kind":"latency","__proto__":{"times":1}}',
    '{"kind":"latency","delayMs":1e400}',
    '{"kind":["latency"]}',
    `"${"x".repeat(200_000)}"`,
    Buffer.from([0xff, 0xfe, 0x00]),
  ];
  for (const body of bodies) {
    const response = await send(sandbox, body, "/sandbox/faults");
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  }
  expect((await send(sandbox, "[]".repeat(200_000), "/sandbox/faults")).status).toBe(413);
});

test("broken HTTP and odd methods do not stop the sandbox", async () => {
  const sandbox = await sandboxForTest();
  for (const bytes of ["GARBAGE\r\n\r\n", "POST /soap/payment-v2 HTTP/1.1\r\n\r\n", "\0\0\0\0"]) {
    const said = await new Promise<string>((resolve, reject) => {
      const socket = createConnection(sandbox.port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.on("close", () => resolve(text));
      socket.on("error", reject);
      socket.write(bytes);
    });
    expect(said).toMatch(/^HTTP\/1\.1 400 /);
  }
  for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"]) {
    const response = await fetch(`${sandbox.url}/soap/payment-v2`, { method });
    expect([method, response.status]).toEqual([method, 404]);
  }
  expect((await fetch(`${sandbox.url}/%00%ff/..%2f`)).status).toBeGreaterThanOrEqual(400);
  expect((await generate(sandbox)).result["code"]).toBe("0");
});

test("a Host header that is no host name never reaches an answer", async () => {
  const sandbox = await sandboxForTest();
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = createConnection(sandbox.port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
    socket.write(
      'GET /soap/payment-v2?wsdl HTTP/1.1\r\nHost: evil.test/"><x\r\nConnection: close\r\n\r\n',
    );
  });
  expect(answer).not.toContain("evil.test");
});
