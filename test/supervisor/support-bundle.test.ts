import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Config } from "../../src/shared/config/config.ts";
import { HttpTransport } from "../../src/supervisor/gateway/http-transport.ts";
import { uploadSupportBundle } from "../../src/supervisor/support-bundle.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { selfSigned } from "./gateway/self-signed.ts";

interface Given {
  readonly secrets?: Partial<Config>;
  readonly facts?: object;
  readonly lines?: readonly string[];
  readonly redirect?: string;
}

/** What a real server was sent, and the end of the upload. */
async function uploaded({ secrets = {}, facts = {}, lines = [], redirect }: Given) {
  const asked: { url: string | undefined; body: string }[] = [];
  const server = createServer(selfSigned, (request, response) => {
    let body = "";
    request.on("data", (bytes) => (body += String(bytes)));
    request.on("end", () => {
      asked.push({ url: `${request.method} ${request.url}`, body });
      if (redirect === undefined) response.end();
      else response.writeHead(307, { location: redirect }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const clock = new TestClock();
  const transport = new HttpTransport(clock, { certificates: [selfSigned.cert] });
  onTestFinished(async () => {
    transport.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const log = join(temporaryFolder(), "supervisor.log");
  writeFileSync(log, lines.map((line) => `${line}\n`).join(""));
  const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}/up/`;
  const parts = { address, kiosk: "kiosk-7", logFiles: [log], config: secrets as Config };
  const { signal } = new AbortController();
  const rest = { facts: () => facts, transport, clock, signal };
  const end = await uploadSupportBundle({ ...parts, ...rest }, "r-1");
  const bodies = asked.map(({ body }) => JSON.parse(body) as { facts: object; logs: string[][] });
  return { end, asked, first: bodies[0], body: asked[0]?.body ?? "" };
}

test("the bundle is one POST below the address", async () => {
  const { end, asked } = await uploaded({});
  expect(end).toBe("done");
  expect(asked.map(({ url }) => url)).toEqual(["POST /up/kiosk-7-r-1.json"]);
});

test("a redirect is not followed", async () => {
  const { end, asked } = await uploaded({ redirect: "/up/elsewhere.json" });
  expect(end).toBe("upload-failed");
  expect(asked).toHaveLength(1);
});

test("a password of digits that stands in numbers leaves JSON, and goes", async () => {
  const facts = { atMs: 1_234_567_123_499, pid: 1_234, says: "login 1234" };
  const secrets = { GATEWAY_PWD: "1234" };
  const { end, first, body } = await uploaded({ secrets, facts, lines: [JSON.stringify(facts)] });
  expect(end).toBe("done");
  expect(first?.facts).toMatchObject({ pid: "[removed]", says: "login [removed]" });
  expect(body).not.toContain("1234");
});

test("a token in an address of the setup file goes, a login stays readable", async () => {
  const callback = "https://shop.example/notify?token=tok-4711";
  const secrets = {
    GATEWAY_CALLBACK_URL: callback,
    GATEWAY_LOGIN: "me@shop",
    GATEWAY_PWD: "secret",
  };
  const lines = [`{"msg":"sent to ${callback} with tok-4711"}`, "GET /notify?token=tok%2D4711"];
  const { body } = await uploaded({ secrets, lines, facts: { token: "tok-4711", v: 2 } });
  expect(body).not.toContain("tok-4711");
});

test("a secret of fewer than 4 characters goes as a word", async () => {
  const secrets = { OPERATOR_PWD: "a.1", GATEWAY_PWD: "77" };
  const lines = ['{"msg":"a.1, 77;x77 aa1 177","code":77,"ms":1772}', "77 a.1"];
  const { first } = await uploaded({ secrets, lines });
  expect(first?.logs).toEqual([
    [
      '{"msg":"[removed], [removed];x77 aa1 177","code":"[removed]","ms":1772}',
      "[removed] [removed]",
    ],
  ]);
});

const PASSWORD = 'p"a\\s&s<w ö';

test.each([
  ["in a text", JSON.stringify({ msg: `login with ${PASSWORD}!` })],
  ["in JSON within JSON", JSON.stringify({ msg: JSON.stringify({ pwd: PASSWORD }) })],
  ["in an address", JSON.stringify({ url: `/a?p=${encodeURIComponent(PASSWORD)}&b` })],
  ["in XML", JSON.stringify({ msg: '<p>p"a\\s&amp;s&lt;w ö</p>' })],
  ["in a name", JSON.stringify({ [PASSWORD]: 1 })],
  ["in a line that is no JSON", `Error: ${PASSWORD}`],
])("a password %s is removed", async (_, line) => {
  const { body } = await uploaded({ secrets: { GATEWAY_PWD: PASSWORD }, lines: [line] });
  expect(body).toContain("[removed]");
  expect(body).not.toMatch(/s&s|s&amp;s|s%26s/);
});

test.each([
  ["a login of HTTP", `authorization: Basic ${btoa("kiosk:geheim")}`, /a2lvc2/],
  ["a token", "Bearer abc.def-ghi_jkl", /abc\.def/],
  ["a mail address", "to Ada.Lovelace+x@example.org!", /Lovelace|example/],
  ["a mail address in an address", "/a?m=ada%40example.org", /ada|example/],
  ["a card number", "4111111111111111", /1{12}/],
  ["a card number in groups", "4111 1111 1111 1111", /1111 1111/],
  ["a card number with a secret in it", "41111111 1111-1111 wort", /1111-1111/],
])("%s is removed from texts, lines and facts", async (_, text, never) => {
  const secrets = { GATEWAY_PWD: "4111", GATEWAY_API_KEY: "5500005555555559" };
  const facts = { text, deep: [{ text }] };
  const { body } = await uploaded({ secrets, facts, lines: [JSON.stringify({ text }), text] });
  expect(body).toContain("logs");
  expect(body).not.toMatch(never);
});

test("a card number that is a number, and a secret that looks like one, are removed", async () => {
  const secrets = { GATEWAY_API_KEY: "5500005555555559" };
  const lines = ['{"pan":4111111111111111}', "key 550000XXXXXX5559", "key 5500005555555559"];
  const { body } = await uploaded({ secrets, lines, facts: { pan: 4_111_111_111_111_111 } });
  expect(body).toContain("logs");
  expect(body).not.toMatch(/1{12}|5559/);
});
