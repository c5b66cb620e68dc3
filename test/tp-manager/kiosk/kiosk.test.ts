import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { writeTicket } from "../../../src/shared/process/kiosk-ticket.ts";
import { createKiosk } from "../../../src/tp-manager/kiosk/kiosk.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { house } from "../../support/house/payment-house.ts";
import { apiOptions } from "../http/rig.ts";

const HOST = "localhost:8768";
const own = { host: HOST, origin: `http://${HOST}`, "sec-fetch-site": "same-origin" };

function kiosk(at = house()) {
  const folder = temporaryFolder();
  const runDirectory = openRunDirectory(temporaryFolder());
  const app = createKiosk({
    ...apiOptions(at, { port: 8768 }),
    folder,
    runDirectory,
  });
  onTestFinished(() => app.close());
  const file = async (url: string) => {
    const { statusCode, headers, body } = await app.inject({ url, headers: { host: HOST } });
    return { status: statusCode, headers, body };
  };
  const session = async (ticket: string, headers: Record<string, string> = own) => {
    const answer = await app.inject({
      method: "POST",
      url: "/session",
      headers,
      payload: { ticket },
    });
    return { status: answer.statusCode, token: answer.json()[0].token as string | undefined };
  };
  const call = async (token: string, path: string, method: "GET" | "POST" = "GET") => {
    const headers = { ...own, authorization: `Bearer ${token}` };
    return (await app.inject({ method, url: `/api${path}`, headers })).statusCode;
  };
  return { app, folder, runDirectory, file, session, call };
}

test("a ticket opens one session, with the kiosk's calls and none of the operator's", async () => {
  const { runDirectory, session, call } = kiosk();
  expect(await call("none", "/check")).toBe(401);
  const ticket = writeTicket(runDirectory);
  const { status, token = "" } = await session(ticket);
  expect([status, await call(token, "/check")]).toEqual([200, 200]);
  expect(await call(token, "/payment/A-1")).toBe(404);
  expect(await call(token, "/stop", "POST")).toBe(403);
  expect((await session(ticket)).status).toBe(401);
});

test("a payment that is answered before its end has a path of the pages' own port", async () => {
  const at = house();
  at.terminal.script = () => new Promise(() => {});
  const { app, runDirectory, session } = kiosk(at);
  const { token = "" } = await session(writeTicket(runDirectory));
  const { statusCode, headers } = await app.inject({
    method: "POST",
    url: "/api/payment",
    headers: { ...own, authorization: `Bearer ${token}`, prefer: "respond-async" },
    payload: { orderId: "A 1", amount: 9.99 },
  });
  expect([statusCode, headers["location"]]).toEqual([202, "/api/payment/A%201"]);
});

test("a ticket that is wrong, old, for others to read or not there opens nothing", async () => {
  const { runDirectory, session } = kiosk();
  expect((await session("")).status).toBe(401);
  const path = join(runDirectory, "kiosk-ticket");
  const old = writeTicket(runDirectory);
  const before = (Date.now() - 60_000) / 1_000 - 1;
  utimesSync(path, before, before);
  expect((await session(old)).status).toBe(401);
  const written = writeTicket(runDirectory);
  if (process.platform !== "win32") {
    chmodSync(path, 0o644);
    expect((await session(written)).status).toBe(401);
    chmodSync(path, 0o600);
  }
  expect((await session(`${written.slice(0, -1)}!`)).status).toBe(401);
  expect((await session(written)).status).toBe(200);
});

test("no other page uses a ticket or a session, and none can be guessed from it", async () => {
  const { runDirectory, session, call } = kiosk();
  const ticket = writeTicket(runDirectory);
  for (const origin of ["http://localhost:8765", "http://evil.example", "null"]) {
    const headers = { ...own, origin, "sec-fetch-site": "cross-site" };
    expect([origin, (await session(ticket, headers)).status]).toEqual([origin, 403]);
  }
  expect((await session(ticket, { host: HOST })).status).toBe(403);
  expect((await session(ticket, { ...own, host: "evil.example:8768" })).status).toBe(403);
  const { token = "" } = await session(ticket);
  expect(await call(token, "/check")).toBe(200);
});

test("plain files of the folder are served to any page, and nothing else is", async () => {
  const { folder, file } = kiosk();
  const outside = join(temporaryFolder(), "secret.txt");
  writeFileSync(outside, "secret");
  mkdirSync(join(folder, "sub"));
  mkdirSync(join(folder, ".git"));
  for (const name of [
    "index.html",
    "sub/index.html",
    "a b.js",
    ".env.txt",
    ".git/a.txt",
    "x.exe",
  ]) {
    writeFileSync(join(folder, name), name);
  }
  symlinkSync(outside, join(folder, "link.txt"));
  symlinkSync(join(outside, ".."), join(folder, "folder"));
  const page = await file("/");
  expect(page).toMatchObject({ status: 200, body: "index.html" });
  expect(page.headers["content-security-policy"]).toMatch(
    /^default-src 'none'; script-src 'self';/,
  );
  expect(page.headers["content-security-policy"]).not.toContain("unsafe");
  expect(page.headers["x-content-type-options"]).toBe("nosniff");
  expect(await file("/sub/?x=1")).toMatchObject({ status: 200, body: "sub/index.html" });
  expect(await file("/a%20b.js")).toMatchObject({ status: 200, body: "a b.js" });
  const refused = [
    "/.env.txt",
    "/.git/a.txt",
    "/x.exe",
    "/link.txt",
    "/folder/secret.txt",
    "/sub",
    "/none.js",
    "/..%2fsecret.txt",
    "/sub/..%2f..%2fsecret.txt",
    "/%2e%2e/secret.txt",
    "/sub//index.html",
    "/sub%5cindex.html",
    "/index.html%00.js",
    "/index.html::$DATA.js",
    "/%E0%A4%A",
    "/api/none",
  ];
  for (const path of refused) {
    const { status, body } = await file(path);
    expect([path, status >= 400 && status < 500, body.includes("secret\n")]).toEqual([
      path,
      true,
      false,
    ]);
  }
});
