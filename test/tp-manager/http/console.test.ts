import { readdirSync, readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { conditionTable } from "../../../src/shared/catalog/conditions.ts";
import { errorTable } from "../../../src/shared/catalog/errors.ts";
import { findingTable } from "../../../src/shared/catalog/findings.ts";
import { assetFile, projectRoot } from "../../../src/shared/version-files.ts";
import { createConsole } from "../../../src/tp-manager/console/console.ts";
import type { ApiOptions } from "../../../src/tp-manager/http/app.ts";
import { isActing } from "../../../src/tp-manager/http/call.ts";
import { calls } from "../../../src/tp-manager/http/calls/calls.ts";
import { FailureDelay } from "../../../src/tp-manager/http/door/failure-delay.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { house } from "../../support/house/payment-house.ts";
import { maintenanceForTest } from "./maintenance-for-test.ts";
import { apiOptions } from "./rig.ts";

const operator = { login: "operator", password: "long-operator-password" };
const host = "localhost:8766";
const own = { host, origin: `http://${host}` };

/** The console without a port, on a house of its own. */
function consoleForTest(change: Partial<ApiOptions> = {}) {
  const at = house();
  const clock = new TestClock();
  const more = { port: 8766, operator, clock, failures: new FailureDelay(clock) };
  const app = createConsole(apiOptions(at, { ...more, ...change }));
  onTestFinished(() => app.close());
  type Method = "GET" | "POST" | "DELETE" | "OPTIONS";
  const send = async (
    method: Method,
    url: string,
    headers: Record<string, string> = {},
    payload?: object,
  ) => {
    const given = payload === undefined ? {} : { payload };
    const {
      statusCode,
      body,
      headers: sent,
    } = await app.inject({ method, url, headers, ...given });
    return { http: statusCode, text: body, headers: sent };
  };
  const logIn = async ({ login, password } = operator) => {
    const { http, text } = await send("POST", "/session", own, { login, password });
    const [one] = JSON.parse(text);
    return { http, one, auth: { ...own, authorization: `Bearer ${one.token}` } };
  };
  const textsOf = async (file: string): Promise<Record<string, string>> =>
    JSON.parse((await send("GET", `/texts/${file}.json`, { host })).text);
  return { at, app, clock, send, logIn, textsOf };
}

const act = { "act-name": "Anna", "act-reason": encodeURIComponent("hängt") };

test("a session needs the right pair, the page's own origin, and its token each time", async () => {
  const { send, logIn } = consoleForTest();
  const good = { login: operator.login, password: operator.password };
  for (const headers of [
    { host },
    { host, origin: "http://localhost:8765" },
    { host, origin: "http://127.0.0.1:8766" },
    { host, origin: "null" },
    { ...own, "sec-fetch-site": "same-site" },
    { ...own, "sec-purpose": "prefetch" },
    { host: "evil.test:8766", origin: "http://evil.test:8766" },
  ]) {
    expect([headers, (await send("POST", "/session", headers, good)).http]).toEqual([headers, 403]);
  }
  const { http, one, auth } = await logIn();
  expect(http).toBe(200);
  expect(one).toMatchObject({ login: "operator", role: "operator", idleSeconds: 900 });
  expect(one.token).toMatch(/^[\w-]{43}$/);
  expect((await send("GET", "/api/health", auth)).http).toBe(200);
  const { authorization } = auth;
  const site = "sec-fetch-site";
  const fromPage = { host, authorization, [site]: "same-origin" };
  expect((await send("GET", "/api/health", fromPage)).http).toBe(200);
  for (const headers of [
    { host, authorization },
    { host, authorization, [site]: "none" },
    { host, authorization, [site]: "same-site" },
    { host, authorization, [site]: "cross-site" },
    { ...own, authorization, [site]: "same-site" },
    { host, authorization, origin: "http://localhost:8765" },
    { ...own, authorization, "sec-purpose": "prefetch" },
  ]) {
    expect([headers, (await send("GET", "/api/health", headers)).http]).toEqual([headers, 403]);
  }
  for (const given of ["", "Bearer x", `Basic ${btoa("operator:long-operator-password")}`]) {
    const { http, headers } = await send("GET", "/api/health", { ...own, authorization: given });
    expect([given, http, headers["www-authenticate"]]).toEqual([given, 401, undefined]);
  }
});

test("a wrong password is answered late, later each time, and never with a challenge", async () => {
  const { send, clock, logIn } = consoleForTest();
  for (const delayMs of [100, 200, 400]) {
    let done = false;
    const wrong = { login: "operator", password: "wrong" };
    const asked = send("POST", "/session", own, wrong).finally(() => {
      done = true;
    });
    await expect.poll(() => clock.running).toContain("failed authentication");
    await clock.advance(delayMs - 1);
    expect(done).toBe(false);
    await clock.advance(1);
    const { http, headers } = await asked;
    expect([http, headers["www-authenticate"], headers["set-cookie"]]).toEqual([
      401,
      undefined,
      undefined,
    ]);
  }
  expect((await logIn()).http).toBe(200);
});

test("the kiosk's pair logs in, with its own rights, only if the operator has none", async () => {
  const kiosk = { login: "kiosk", password: "secret" };
  const with2 = consoleForTest();
  const refused = with2.send("POST", "/session", own, kiosk);
  await expect.poll(() => with2.clock.running).toContain("failed authentication");
  await with2.clock.advance(5_000);
  expect((await refused).http).toBe(401);
  const { send, logIn } = consoleForTest({ operator: undefined });
  const { one, auth } = await logIn(kiosk);
  expect(one).toMatchObject({ role: "kiosk", hasOperator: false });
  expect((await send("POST", "/api/reset", { ...auth, ...act })).http).toBe(200);
  expect((await send("POST", "/api/terminal/accept", { ...auth, ...act })).http).toBe(403);
});

test("fifteen minutes without key or pointer end a session; polling does not count", async () => {
  const { send, clock, logIn } = consoleForTest();
  const { auth } = await logIn();
  const poll = async (more = {}) => (await send("GET", "/session", { ...auth, ...more })).http;
  await clock.advance(14 * 60_000);
  expect(await poll({ "user-active": "yes" })).toBe(200);
  await clock.advance(14 * 60_000);
  expect(await poll({ "user-active": "no" })).toBe(200);
  await clock.advance(60_000);
  expect(await poll({ "user-active": "yes" })).toBe(401);
  const second = await logIn();
  expect((await send("DELETE", "/session", second.auth)).http).toBe(200);
  expect((await send("GET", "/session", second.auth)).http).toBe(401);
  expect(clock.running).toEqual([]);
});

test("an action is done only with name and reason, and its audit entry keeps them", async () => {
  const { send, logIn, at } = consoleForTest();
  const { auth } = await logIn();
  for (const more of [{}, { "act-name": "Anna" }, { ...act, "act-name": "%20" }]) {
    expect((await send("POST", "/api/reset", { ...auth, ...more })).http).toBe(400);
  }
  const number = { ...act, "act-reason": "4111111111111111" };
  expect((await send("POST", "/api/reset", { ...auth, ...number })).http).toBe(400);
  expect(at.journal.auditEntries.list(9, 9)).toEqual([]);
  expect((await send("POST", "/api/reset", { ...auth, ...act })).http).toBe(200);
  const body = { happened: true, note: "x", orderId: "A-1" };
  await send("POST", "/api/gateway/settle", { ...auth, ...act }, body);
  const { text } = await send("GET", "/api/acts", auth);
  expect(JSON.parse(text)).toMatchObject([
    { call: "POST /gateway/settle", body: JSON.stringify(body), http: 404 },
    { login: "operator", name: "Anna", reason: "hängt", call: "POST /reset", http: 200 },
  ]);
  at.journal.database.exec("DROP TABLE act");
  const { http } = await send("POST", "/api/reset", { ...auth, ...act });
  expect(http).toBe(503);
});

test("an audit entry keeps the outcome of its call even when the browser has left", async () => {
  const { at, app, logIn } = consoleForTest();
  const { auth } = await logIn();
  const restarted = Promise.withResolvers<void>();
  at.terminal.reset = () => restarted.promise;
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  const url = new URL("/api/reset", address);
  const asked = httpRequest(url, { method: "POST", headers: { ...auth, ...act }, agent: false });
  const gone = new Promise((resolve) => asked.on("error", resolve).on("close", resolve));
  const left = new Promise((resolve) => {
    app.server.on("connection", (socket) => socket.once("close", resolve));
  });
  asked.end();
  await expect.poll(() => at.journal.auditEntries.list(9, 9)).toMatchObject([{ http: null }]);
  asked.destroy();
  await Promise.all([gone, left]);
  restarted.resolve();
  await expect.poll(() => at.journal.auditEntries.list(9, 9)).toMatchObject([{ http: 200 }]);
});

test("doctor calls share one run, and a person can hold and release updates", async () => {
  const runs: string[] = [];
  const report = Promise.withResolvers<void>();
  const launcher = async (args: readonly string[]) => {
    runs.push(args.slice(0, -2).join(" "));
    await report.promise;
    return { stdout: '{"version":"1","well":true,"findings":[]}', stderr: "", code: 0 };
  };
  const maintenance = maintenanceForTest(undefined, { launcher, isUpdated: true });
  const { send, logIn } = consoleForTest({ maintenance });
  const { auth } = await logIn();
  const checks = [1, 2, 3].map(() => send("GET", "/api/doctor", auth));
  const bundles = [1, 2].map(() => send("GET", "/api/support-bundle", auth));
  await expect.poll(() => runs).toEqual(["doctor --json"]);
  report.resolve();
  expect((await Promise.all(checks)).map(({ http }) => http)).toEqual([200, 200, 200]);
  await Promise.all(bundles);
  expect(runs).toEqual(["doctor --json", expect.stringMatching(/^doctor --json --bundle /)]);
  await send("GET", "/api/doctor", auth);
  const sent = { ...auth, ...act };
  const until = { until: "2027-01-31", by: "--Anna" };
  expect((await send("POST", "/api/update/hold", sent, until)).http).toBe(200);
  expect((await send("POST", "/api/update/unhold", sent)).http).toBe(200);
  expect(runs.slice(2)).toEqual([
    "doctor --json",
    "update --hold --until=2027-01-31 --by=--Anna",
    "update --unhold",
  ]);
});

test("a card number in the path of an audit entry is masked in any encoding", async () => {
  const { send, logIn, at } = consoleForTest();
  const { auth } = await logIn();
  for (const number of ["4111111111111111", "4111%201111%201111%201111", "%34111-1111-1111-1111"]) {
    const url = `/api/payment/${number}/settle?note=${number}`;
    expect((await send("POST", url, { ...auth, ...act }, {})).http).toBe(400);
    const [kept] = at.journal.auditEntries.list(99, 1);
    const digits = decodeURIComponent(kept?.call ?? "").replace(/\D/g, "");
    // At most the first six and the last four digits of both numbers.
    expect(digits, number).toMatch(/^(41{4,5}1{4}){2}$/);
  }
});

test("no call that changes anything is carried out without a name and a reason", async () => {
  const { send, logIn, at } = consoleForTest();
  const { auth } = await logIn();
  const acting = calls.flatMap((record) =>
    record.methods
      .filter((method) => isActing(method, record))
      .map((method) => ({ record, method })),
  );
  expect(acting.length).toBeGreaterThan(15);
  for (const { record, method } of acting) {
    const url = `/api${record.path.replace(/\{\w+\}/g, "x")}`;
    for (const lacks of ["act-name", "act-reason"] as const) {
      const { [lacks]: _, ...given } = act;
      const { http, text } = await send(method, url, { ...auth, ...given });
      const [{ error }] = JSON.parse(text);
      expect([method, url, http, error.code, error.details.faults[0].field]).toEqual([
        method,
        url,
        400,
        "REQUEST_INVALID",
        lacks,
      ]);
    }
  }
  expect(at.journal.auditEntries.list(99, 9)).toEqual([]);
  expect(at.terminal.paid).toEqual([]);
});

test("a restart ends every session", async () => {
  const before = consoleForTest();
  const { auth } = await before.logIn();
  await before.app.close();
  const after = consoleForTest();
  expect((await after.send("GET", "/session", auth)).http).toBe(401);
  expect((await after.send("GET", "/api/health", auth)).http).toBe(401);
});

test("every call of the local API is there, and needs a session", async () => {
  const { send, logIn } = consoleForTest();
  const { auth } = await logIn();
  for (const { path, methods } of calls) {
    for (const method of methods) {
      const url = `/api${path.replace(/\{\w+\}/g, "x")}`;
      expect([path, (await send(method, url, own)).http]).toEqual([path, 401]);
    }
  }
  expect((await send("GET", "/api/nothing", own)).http).toBe(401);
  expect((await send("GET", "/api/nothing", auth)).http).toBe(404);
  expect((await send("DELETE", "/api/payments", auth)).http).toBe(405);
  expect((await send("OPTIONS", "/api/payments", own)).http).toBe(401);
});

const folder = "tp-manager/console/pages";

test("only the page's own files are open without a session, under a strict policy", async () => {
  const { send } = consoleForTest();
  for (const [path, type] of [
    ["/", "text/html"],
    ["/main.js", "text/javascript"],
    ["/vendor/htm-preact.js", "text/javascript"],
    ["/console.css", "text/css"],
    ["/icon.svg", "image/svg+xml"],
  ] as const) {
    const { http, headers } = await send("GET", path, { host });
    expect([path, http, String(headers["content-type"])]).toEqual([
      path,
      200,
      expect.stringContaining(type),
    ]);
    const policy = String(headers["content-security-policy"]);
    expect(policy).not.toMatch(/unsafe|\*|http/);
    expect(policy).toMatch(/^default-src 'none'.*frame-ancestors 'none'.*require-trusted-types/);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "cross-origin-resource-policy": "same-origin",
      "x-frame-options": "DENY",
    });
  }
  expect((await send("GET", "/", { host: "evil.test:8766" })).http).toBe(403);
  for (const path of ["/vendor/htm-preact.d.ts", "/..%2fconsole.ts", "/%2e%2e/console.ts"]) {
    expect([path, (await send("GET", path, own)).http]).toEqual([path, 401]);
  }
});

test("a dark scheme changes colours alone: no rule and no code of the pages asks for it", () => {
  const pages = join(projectRoot, "src", folder);
  const asking = readdirSync(pages, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(css|js|html)$/.test(name))
    .filter((name) => readFileSync(join(pages, name), "utf8").includes("prefers-color-scheme"));
  // The charts are pictures: they are drawn again in the colours of the style sheet.
  expect(asking.map((name) => basename(name))).toEqual(["day-charts.js"]);
});

test("the first view is smaller than 100 kB in each language", async () => {
  const { send } = consoleForTest();
  const loaded = new Map<string, number>();
  const load = async (path: string): Promise<void> => {
    if (loaded.has(path)) return;
    const { http, text } = await send("GET", path, { host });
    expect([path, http]).toEqual([path, 200]);
    loaded.set(path, Buffer.byteLength(text));
    const named = text.matchAll(/(?:from|src=|href=)\s*"(\.{0,2}\/?[^":]+\.(?:js|css|svg))"/g);
    for (const [, name = ""] of named) await load(new URL(name, `http://x${path}`).pathname);
  };
  for (const path of ["/", "/views/now.js"]) await load(path);
  expect(loaded.size).toBeGreaterThan(7);
  const bytes = [...loaded.values()].reduce((sum, one) => sum + one, 0);
  for (const language of ["en", "fr", "de", "it", "es"]) {
    const { text } = await send("GET", `/texts/${language}.json`, { host });
    expect(bytes + Buffer.byteLength(text), language).toBeLessThan(100_000);
  }
});

test("all languages have the same keys, and the pages ask for no other", async () => {
  const { send, textsOf } = consoleForTest();
  const keysOf = async (...files: string[]) =>
    (await Promise.all(files.map(textsOf))).flatMap((texts) => Object.keys(texts)).sort();
  const keys = await keysOf("en", "payments-en");
  const ofDoctor = await keysOf("doctor-en");
  for (const language of ["fr", "de", "it", "es"]) {
    expect(await keysOf(language, `payments-${language}`)).toEqual(keys);
    expect(await keysOf(`doctor-${language}`)).toEqual(ofDoctor);
  }
  const { text } = await send("GET", "/main.js", { host });
  const views = [...text.matchAll(/import\("\.(\/views\/[\w-]+\.js)"\)/g)].map(([, path]) => path);
  const names = readdirSync(assetFile(folder), { recursive: true, encoding: "utf8" });
  const own = names.filter((name) => name.endsWith(".js") && !/^(vendor|texts)\b/.test(name));
  expect(own.map((name) => `/${name}`)).toEqual(expect.arrayContaining([...views, "/ask.js"]));
  const asked = own.flatMap((name) => {
    const source = readFileSync(assetFile(`${folder}/${name}`), "utf8");
    return [...source.matchAll(/\btexts\("([\w.-]+)"/g)].map(([, key]) => key);
  });
  expect(asked.filter((key) => !keys.includes(key ?? ""))).toEqual([]);
});

test("the English sentences of codes are those of the shared catalogues", async () => {
  const { textsOf } = consoleForTest();
  const [english, doctor] = [await textsOf("en"), await textsOf("doctor-en")];
  const { PAYMENT_DECLINED, INTERNAL, UPDATING } = errorTable;
  const { differences, "queue-old": queue } = conditionTable;
  const { "program-silent": silent, "gateway-not-trusted": distrusted } = findingTable;
  expect(english).toMatchObject({
    "error.other": "The connector refused the request.",
    "error.PAYMENT_DECLINED": PAYMENT_DECLINED.meaning,
    "error.INTERNAL": INTERNAL.console?.meaning,
    "todo.UPDATING": UPDATING.action,
    "condition.differences": differences.says,
    "condition.queue-old": queue.when,
    "condition.queue-old.todo": queue.console?.todo,
  });
  expect(doctor).toMatchObject({
    "doctor.of.node": "Node.js",
    "finding.gateway-not-trusted": distrusted.says,
    "finding.gateway-not-trusted.todo": distrusted.todo,
    "finding.program-silent.todo": silent.todo?.replace("./launch.sh restart", "{command}"),
  });
});
