import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../../src/shared/version-files.ts";
import pageTexts from "../../../src/simulator/terminal/page/texts.json" with { type: "json" };
import texts from "../../../src/simulator/terminal/texts.json" with { type: "json" };
import type { TraceLog } from "../../../src/simulator/terminal/trace-log.ts";
import { authorisation, bank, REGISTRATION_WITHOUT_PRINT, started } from "./support/started.ts";

test("the ledger shows what was charged, with masked card numbers", async () => {
  const { register, get } = await controlled();
  await register.run(authorisation(1200));
  expect(await get("/ledger")).toEqual({
    charged: 1200,
    entries: [
      {
        id: 1,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        kind: "charge",
        amountMinor: 1200,
        currency: "0978",
        receiptNumber: 1,
        trace: 1,
        maskedPan: expect.stringMatching(/^541333X{6}0006$/),
        authorisationNumber: expect.stringMatching(/^\d{6}$/),
        responseCode: "00",
        final: true,
        originalId: null,
        reason: null,
      },
    ],
  });
});

test("the customer is played by hand", async () => {
  const { register, simulator, post } = await controlled({ behaviour: { customer: "manual" } });
  expect(await post("/customer", { action: "insert" })).toMatchObject({ status: 409 });
  const approved = register.run(authorisation(1200));
  await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
  expect(await post("/customer", { action: "insert", card: "visa" })).toMatchObject({
    status: 200,
  });
  expect((await approved).at(-1)).toBe("060f00");
  for (const action of ["cancel", "time-out"]) {
    const payment = register.run(authorisation(1200));
    await expect.poll(() => simulator.terminal.parts.customer.wanted).not.toBeNull();
    await post("/customer", { action });
    expect((await payment).at(-1)).toBe("061e016c");
  }
  expect(bank(simulator)).toEqual(["charge 1200 final"]);
  expect(simulator.ledger.entries[0]?.maskedPan).toMatch(/^476173/);
});

test("the display has the language of --language, or each one for the page", async () => {
  const { get } = await controlled();
  const screen = { language: null, text: "Welcome", texts: { it: "Benvenuto", es: "Bienvenido" } };
  expect(await get("/state")).toMatchObject({ screen });
  const italian = await controlled({ behaviour: { language: "it" } });
  const expected = { screen: { language: "it", text: "Benvenuto" }, language: "it" };
  expect(await italian.get("/state")).toMatchObject(expected);
});

test("the texts of the page have the same keys and values in each language", () => {
  const keysOf = (page: object): string[] =>
    Object.entries(page).map(([key, text]) => `${key} ${String(text).match(/\{\w+\}/g) ?? ""}`);
  // The simulator itself has the texts of moments and faults in English.
  const { moments, faults } = texts;
  const named = (before: string, ...groups: object[]) =>
    groups.flatMap((group) => Object.keys(group).map((name) => `${before}${name} `));
  const inEnglish = [
    ...named("zvt.at.", moments.zvt),
    ...named("zvt.", faults.zvt),
    ...named("french.at.", moments.concert),
    ...named("french.", faults.common, faults.fixed, faults.tagged),
    ...named("nexo.at.", moments.nexo),
    ...named("nexo.", faults.nexo),
  ];
  for (const [language, page] of Object.entries(pageTexts)) {
    const expected = [...keysOf(pageTexts.en), ...(language === "en" ? [] : inEnglish)];
    expect([language, keysOf(page)]).toEqual([language, expected]);
  }
  const folder = join(projectRoot, "src/simulator/terminal/page");
  const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const used = scripts.flatMap((name) => [
    ...readFileSync(join(folder, name), "utf8").matchAll(/\b(?:t|around)\("([\w.-]+)"/g),
  ]);
  expect(used.length).toBeGreaterThan(30);
  expect(used.map(([, key]) => key).filter((key) => !(String(key) in pageTexts.en))).toEqual([]);
});

test("faults are armed, listed and taken back", async () => {
  const { register, get, post, remove } = await controlled();
  expect(await post("/faults", { name: "refuse", code: "9c", times: 2 })).toMatchObject({
    status: 200,
    body: { id: 1, name: "refuse", remaining: 2, struck: 0 },
  });
  expect(await register.run(authorisation(1200))).toEqual(["849c00"]);
  expect(await get("/faults")).toMatchObject({ armed: [{ remaining: 1, struck: 1 }] });
  expect(await remove("/faults")).toEqual({ disarmed: 1 });
  expect((await register.run(authorisation(1200))).at(-1)).toBe("060f00");
  expect(await post("/faults", { name: "earthquake" })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("no fault earthquake") },
  });
  expect(await post("/faults", { name: "mute", when: "now" })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("no argument when") },
  });
});

test("a held payment stands still until the fault is taken back", async () => {
  const { register, simulator, get, remove } = await controlled();
  simulator.arm("hold:at=charged");
  const payment = register.run(authorisation(1200));
  await expect.poll(() => get("/state")).toMatchObject({ running: { phase: "charged" } });
  expect(bank(simulator)).toEqual(["charge 1200"]);
  await remove("/faults");
  expect((await payment).at(-1)).toBe("060f00");
});

test("wire events are streamed as they happen, each a line of JSON", async () => {
  const { register, simulator } = await controlled();
  const response = await fetch(`${simulator.controlUrl}/events`);
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  await register.run(authorisation(1200));
  let text = "";
  while (!text.includes('"phase":"completed"')) text += (await reader?.read())?.value ?? "";
  await reader?.cancel();
  const events: ReturnType<TraceLog["last"]> = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events.filter(({ what }) => what === "phase").map(({ phase }) => phase)).toEqual([
    "command",
    "accepted",
    "card",
    "host",
    "charged",
    "report",
    "reported",
    "acknowledged",
    "completion",
    "completed",
  ]);
  const report = events.find(({ message }) => message === "040f status-information");
  expect(report).toMatchObject({ what: "apdu", direction: "out", command: "0601" });
  expect(report?.hex).toContain("04000000001200");
});

test("the trace hides passwords and card numbers", async () => {
  const { register, simulator, get } = await controlled();
  await register.run("0601 15 04 000000001200 49 0978 22 f0f8 4761739001010119");
  const trace = JSON.stringify(await get("/trace?last=500"));
  expect(trace).not.toContain("4761739001010119");
  expect(trace).toContain("22f0f8................");
  expect(JSON.stringify(simulator.terminal.trace.last(500))).toContain("0600 registration");
  expect(trace).toMatch(/"hex":"06000a\.{6}3e0978/);
});

test("a terminal is locked, unlocked and made to demand maintenance", async () => {
  const { register, get, post } = await controlled();
  await post("/state", { outOfOrder: true });
  expect((await register.run(authorisation(1200))).at(-1)).toBe("061e01df");
  await post("/state", { outOfOrder: false, demand: { "end-of-day": true } });
  expect((await register.run(authorisation(1200))).at(-1)).toBe("061e01f0");
  expect(await get("/state")).toMatchObject({ outOfOrder: false, demands: ["end-of-day"] });
  expect(await post("/state", { outOfOrder: "yes" })).toMatchObject({ status: 400 });
});

test("the line is closed and opened again", async () => {
  const { register, simulator, reconnect, post } = await controlled();
  const port = simulator.endpoints.tcp?.port;
  await post("/unplug", { ms: 0 });
  expect(await register.next()).toBe("closed");
  await expect
    .poll(() =>
      reconnect().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  expect(simulator.endpoints.tcp?.port).toBe(port);
});

test("web pages and foreign host names are refused", async () => {
  const { simulator } = await controlled();
  const url = `${simulator.controlUrl}/ledger`;
  const page = await fetch(url, { headers: { origin: "http://localhost:3000" } });
  expect(page.status).toBe(403);
  expect((await fetch(url.replace("127.0.0.1", "localhost"))).status).toBe(200);
});

async function controlled(options: Parameters<typeof started>[1] = {}) {
  const opened = await started("tcp", { controlPort: 0, ...options });
  await opened.register.run(REGISTRATION_WITHOUT_PRINT);
  const url = opened.simulator.controlUrl;
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    return { status: response.status, body: await response.json() };
  };
  return {
    ...opened,
    get: async (path: string) => (await send("GET", path)).body,
    post: (path: string, body: unknown) => send("POST", path, body),
    remove: async (path: string) => (await send("DELETE", path)).body,
  };
}
