import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksOf } from "../support/files/pages.ts";
import { isWhole } from "../support/run/scope.ts";
import { run, TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

/** The demo as the README describes it, in order: every test goes on from the one before. */
let checkout: TemporaryCheckout;
let data: string;
beforeAll(() => {
  checkout = new TemporaryCheckout("real", "own");
  data = join(checkout.root, "data/demo");
});
afterAll(() => checkout.remove());

const demo = () => run("sh", ["-ec", blocksOf("demo")[0]?.code ?? "false"], checkout.root);
const parts = ["tp-manager", "supervisor", "simulator/terminal", "simulator/gateway"];
const logins = () =>
  ["netrc", "netrc-operator"].map((name) => readFileSync(join(data, name), "utf8"));
const pids = () => parts.map((part) => checkout.running(part, data));

/** The request line, the answer and the order that a demo has printed. */
function printed(out: string) {
  const [, command = "", answer = "", order = ""] =
    /^(curl .*\/payment)\n\nAnswer .*\nHTTP 200\n(\[[\s\S]*?\n\])\n\n.*\n.*\n(merchant.*)$/m.exec(
      out,
    ) ?? [];
  return { command, answer: JSON.parse(answer)[0], order };
}

let first: ReturnType<typeof printed>;

test("on a fresh checkout the demo pays one order and shows it at the gateway", async () => {
  const { code, out, err } = await demo();
  expect({ code, err }).toEqual({ code: 0, err: "" });
  first = printed(out);
  expect(first.answer).toMatchObject({
    status: "Success",
    error: null,
    amount: 12,
    currency: "EUR",
    // A number of the time would look like a card number one day.
    orderId: expect.stringMatching(/^demo-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/),
    notificationGatewaySent: true,
    receipt: { primaryAccountNumber: expect.stringMatching(/^\d{6}[*X]{6}\d{4}$/) },
  });
  const { orderId, receipt } = first.answer;
  expect(first.order).toBe(
    `merchantReference ${orderId}, amount 12.00 EUR, card ${receipt.primaryAccountNumber}`,
  );
  expect(out).toContain("./launch.sh stop");
  expect(out).toMatch(/; curl -s -X POST .*\/cancel; wait$/m);
  expect(pids().map((found) => found.length)).toEqual([1, 1, 1, 1]);
});

test("a second demo starts nothing twice, and pays another order", async () => {
  // From the sources every process is compiled anew: the rest is tried on the bundles.
  if (!isWhole) checkout.bundle();
  const before = pids();
  const [kiosk, operator] = logins();
  // A demo that an older version has set up.
  writeFileSync(join(data, "netrc"), `${kiosk}${operator}`);
  rmSync(join(data, "netrc-operator"));
  const { code, out } = await demo();
  expect(code).toBe(0);
  expect(out).toContain("It runs already.");
  expect(printed(out).answer.orderId).not.toBe(first.answer.orderId);
  expect(pids()).toEqual(before);
  expect(logins()).toEqual([kiosk, operator]);
});

test("the printed request can be sent again from a shell, and replays the answer", (context) => {
  if (spawnSync("curl", ["--version"]).error) context.skip("curl is not installed");
  const { stdout } = spawnSync("sh", ["-c", first.command], {
    cwd: checkout.root,
    encoding: "utf8",
  });
  expect(JSON.parse(stdout)[0]).toMatchObject({
    status: "Success",
    replayed: true,
    orderId: first.answer.orderId,
    transactionId: first.answer.transactionId,
  });
});

test("status shows every part of the demo, as text and as JSON", async () => {
  const { code, out } = await checkout.launch("status");
  expect(code).toBe(0);
  expect(out.match(/^\S+ +running +pid \d+/gm)).toHaveLength(4);
  expect(out).toMatch(/^queue +empty +2 sent$/m);
  for (const page of ["console", "kiosk pages"]) {
    const [, address = "nowhere"] =
      out.match(new RegExp(`^${page} +listening +(\\S+)$`, "m")) ?? [];
    // The test's bundles have no pages; only an installation that serves pages sends this rule.
    expect((await fetch(address)).headers.get("content-security-policy")).toBeTruthy();
  }
  const status = JSON.parse((await checkout.launch("status", "--json")).out);
  expect(status).toMatchObject({ dataDirectory: data, well: true, simulators: [{}, {}] });
});

test("simulate commands play the terminal, and the demo pays from any of its states", async () => {
  const simulate = (...args: string[]) => run("./launch.sh", ["simulate", ...args], checkout.root);
  expect((await simulate()).out).toMatch(/^approve \[--card NAME\] +the customer/m);
  expect(await simulate("approve")).toMatchObject({
    code: 69,
    err: expect.stringContaining("the terminal is not waiting for that"),
  });
  expect(await simulate("dance")).toMatchObject({ code: 64 });
  for (const switchName of ["by-hand", "paper-out"])
    expect(await simulate(switchName)).toMatchObject({ code: 0 });
  const again = await demo();
  expect(again.code, again.out).toBe(0);
  expect(again.out).toMatch(/A terminal to touch, in a browser: http:\/\/127\.0\.0\.1:\d+\//);
  const [, sandbox = "nowhere"] = again.out.match(/^The gateway's orders: (\S+)$/m) ?? [];
  expect((await fetch(sandbox)).status).toBe(200);
  expect((await simulate("approve", "--data", "nowhere")).code).toBe(69);
});

test("no password and no card number is in any file but those made for passwords", () => {
  const config = readFileSync(join(data, "config.txt"), "utf8");
  const passwords = [...config.matchAll(/_PWD=(.+)/g)].map(([, password]) => password as string);
  expect(passwords).toHaveLength(3);
  const [start, end] = [0, -4].map((at) => first.answer.receipt.primaryAccountNumber.slice(at));
  const card = new RegExp(`${start.slice(0, 6)}\\d{6}${end}`);
  const files = readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(10);
  const texts = files.map((file) => ({ file, text: readFileSync(file, "latin1") }));
  const withPassword = texts.filter(({ text }) => passwords.some((one) => text.includes(one)));
  expect(withPassword.map(({ file }) => file.slice(data.length + 1)).sort()).toEqual([
    "config.txt",
    "gateway-account.json",
    "netrc",
    "netrc-operator",
  ]);
  expect(texts.filter(({ text }) => card.test(text)).map(({ file }) => file)).toEqual([]);
});

test("stop ends every part", async () => {
  const stopped = await checkout.launch("stop");
  expect(stopped.code).toBe(0);
  expect(stopped.out.match(/^\S+ +stopped$/gm)).toHaveLength(4);
  expect(pids()).toEqual([[], [], [], []]);
});

// Elsewhere a demo that was stopped is started again with stand-ins alone (demo-failures.test.ts).
test.skipIf(!isWhole)("the demo starts again with the same data", async () => {
  const again = await demo();
  expect(again.code, again.out).toBe(0);
  expect((await checkout.launch("status")).out).toMatch(/^queue +empty +4 sent$/m);
  expect((await checkout.launch("stop")).code).toBe(0);
});
