import { createConnection } from "node:net";
import { describe, expect, test } from "vitest";
import { responseEnvelope } from "../../../../src/simulator/gateway/soap/xml.ts";
import { haveVectors, post, rootOf, sandboxForTest, vector } from "../sandbox-for-test.ts";

const text = (path: string): string => vector(path) ?? "";

describe.runIf(haveVectors)("requests that real client libraries sent", () => {
  test("node-soap's order request is answered in the shape of the public sample", async () => {
    const sandbox = await sandboxForTest();
    const answer = await replay(sandbox.port, text("soap/request-generate.node-soap.http"));
    const [order] = sandbox.orders();
    const sample = text("soap/response-generate-ok.xml")
      .replaceAll("https://ws.gateway.example.test", "http://127.0.0.1:18080")
      .replace(/https:\/\/payment[^<]*/, `http://127.0.0.1:18080${order?.page}`);
    expect(answer.head).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer.head).toMatch(/content-type: text\/xml; charset=utf-8/i);
    expect(answer.body).toBe(sample);
    expect(order).toMatchObject({
      amount: "19.99",
      manualCapture: true,
      freeData: { custom1: "value1", k2: 'é<&>"' },
      fields: { description: "Café & thé", urlCallback: "http://127.0.0.1:18081/cb?a=1&b=2" },
    });
  });

  test("the same request with a wrong password gets the published refusal", async () => {
    const sandbox = await sandboxForTest();
    const request = text("soap/request-generate.node-soap.http")
      .replace("f2022629d27c42ada763d7875ca11d9a", "f2022629d27c42ada763d7875ca11d9b")
      .replace("0ca9872cc65e43f9a3519b8dd3d0f5ce", "4f8x3x80fd4x476f1e227c68xefdx0x5");
    const answer = await replay(sandbox.port, request);
    expect(answer.body).toBe(
      text("soap/response-generate-bad-password.xml").replaceAll(
        "https://ws.gateway.example.test",
        "http://127.0.0.1:18080",
      ),
    );
    expect(sandbox.orders()).toEqual([]);
  });
});

describe.runIf(haveVectors)("response envelopes", () => {
  const samples = [
    "soap/response-generate-ok.xml",
    "soap/response-generate-bad-password.xml",
    "soap/response-confirm-ok.xml",
    "soap/response-card-ok.xml",
  ];
  for (const path of samples) {
    test(`${path} is written again byte for byte`, () => {
      const answer = rootOf(text(path)).children[0]?.children[0];
      const result = answer?.children[0]?.children ?? [];
      const operation = answer?.name.replace("Response", "") ?? "";
      const children = result.map((child) => [child.name, child.text] as const);
      expect(responseEnvelope(operation, answer?.namespace ?? "", children)).toBe(text(path));
    });
  }
});

test.runIf(haveVectors)("the category list has the published shape", async () => {
  const labels = [200, 550, 99, 205].map((id, i) => ({ id, label: `Label${i + 1}` }));
  const sandbox = await sandboxForTest({
    accounts: [
      {
        login: "l",
        password: "p",
        websites: [{ id: 107, currency: "EUR", categories: labels }],
      },
    ],
  });
  const list = (id: number) => fetch(`${sandbox.url}/order/list-categories/id/${id}`);
  expect(await (await list(107)).text()).toBe(text("categories/list-categories.xml"));
  expect(await (await list(1)).text()).toContain("<result><status>error</status><message>");
});

/** Sends recorded bytes on a plain connection and reads one answer. */
function replay(port: number, recorded: string): Promise<{ head: string; body: string }> {
  const [head = "", ...rest] = recorded.split(/\r?\n\r?\n/);
  const body = Buffer.from(rest.join("\n\n"));
  const lines = head
    .split(/\r?\n/)
    .map((line) => line.replace(/^content-length:.*/i, `Content-Length: ${body.length}`))
    .map((line) => line.replace(/^connection:.*/i, "Connection: close"));
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, "127.0.0.1");
    const received: Buffer[] = [];
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("error", reject);
    socket.on("end", () => {
      const [answerHead = "", answerBody = ""] = Buffer.concat(received)
        .toString()
        .split("\r\n\r\n");
      resolve({ head: answerHead, body: answerBody });
    });
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    socket.write(body);
  });
}

test("requests posted to an unknown service are not found", async () => {
  const sandbox = await sandboxForTest();
  expect((await post(`${sandbox.url}/soap/transfer-v2`, "<a/>")).status).toBe(404);
});
