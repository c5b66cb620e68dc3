import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { listenOnLoopback } from "../../../src/tp-manager/http/door/loopback-server.ts";
import { createKiosk } from "../../../src/tp-manager/kiosk/kiosk.ts";
import { PATIENCE_MS } from "../../support/clocks/patience.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { house } from "../../support/house/payment-house.ts";
import { freePort } from "../../support/programs/installation.ts";
import { rawSocket } from "../http/listening.ts";
import { apiOptions } from "../http/rig.ts";

/** The pages of a folder on real sockets; `run`: where in it the run directory is. */
async function served(run?: string) {
  const port = await freePort();
  const folder = temporaryFolder();
  const data = run === undefined ? temporaryFolder() : join(folder, run, "..");
  mkdirSync(data, { recursive: true });
  const runDirectory = openRunDirectory(data);
  const options = apiOptions(house(), { port });
  const app = createKiosk({ ...options, folder, runDirectory });
  const server = await listenOnLoopback(app, port, options, "KIOSK_PORT");
  onTestFinished(() => server.close());
  return { port, folder };
}

test("nothing of the data folder is served when KIOSK_APP is a folder above it", async () => {
  const { port, folder } = await served("data/run");
  writeFileSync(join(folder, "index.html"), "page");
  writeFileSync(join(folder, "data", "config.txt"), "TERMINAL_MANAGER_PWD=secret");
  const statusOf = async (path: string) => (await fetch(`http://localhost:${port}${path}`)).status;
  expect([await statusOf("/"), await statusOf("/data/config.txt")]).toEqual([200, 404]);
  const same = await served("run");
  writeFileSync(join(same.folder, "config.txt"), "TERMINAL_MANAGER_PWD=secret");
  expect((await fetch(`http://localhost:${same.port}/config.txt`)).status).toBe(404);
});

test.skipIf(process.platform === "win32")("a pipe in the folder gets 404", async () => {
  const { port, folder } = await served();
  execFileSync("mkfifo", [join(folder, "pipe.js")]);
  const answer = await fetch(`http://localhost:${port}/pipe.js`, {
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  expect(answer.status).toBe(404);
});

test("a file that grows while it is read sends no byte after its answer", async () => {
  const { port, folder } = await served();
  const path = join(folder, "film.mp4");
  const size = 32 * 1024 * 1024;
  writeFileSync(path, Buffer.alloc(size, "a"));
  const { socket, received, ended } = rawSocket(port);
  socket.pause();
  socket.write(`GET /film.mp4 HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`);
  socket.write(`GET /none.js HTTP/1.1\r\nhost: localhost:${port}\r\nconnection: close\r\n\r\n`);
  await new Promise((resolve) => socket.once("readable", resolve));
  appendFileSync(path, "HTTP/1.1 200 OK\r\n\r\nb");
  socket.resume();
  await ended;
  const bytes = received();
  const body = bytes.indexOf("\r\n\r\n") + 4;
  expect(bytes.slice(body + size, body + size + 20)).toMatch(/^HTTP\/1\.1 404/);
});

test("every answer has the headers that keep other pages away", async () => {
  const { port } = await served();
  const asked = (text: string) =>
    rawSocket(port, `${text}\r\nhost: localhost:${port}\r\nconnection: close\r\n\r\n`).ended;
  for (const text of [
    "GET / HTTP/1.1",
    "GET /%E0%A4%A HTTP/1.1",
    "PROPFIND / HTTP/1.1",
    "HEAD / HTTP/1.1",
    "OPTIONS /api/check HTTP/1.1",
    `GET /${"a".repeat(400)} HTTP/1.1`,
    "GET http://localhost/api/check HTTP/1.1",
    "GET /api/check HTTP/1.1\r\nupgrade: websocket",
    "GET /a HTTP/3.0",
    "CONNECT localhost:1 HTTP/1.1",
    "GET / HTTP/1.1\r\ntransfer-encoding: x, chunked\r\ncontent-length: 1",
    `GET / HTTP/1.1\r\nx: ${"a".repeat(20_000)}`,
    "POST /session HTTP/1.1\r\ncontent-length: 99999999",
    "QUERY /api/check HTTP/1.1",
    "POST /session HTTP/1.1\r\nexpect: nonsense",
  ]) {
    const answer = (await asked(text)).toLowerCase();
    const missing = [
      "cache-control: no-store",
      "x-content-type-options: nosniff",
      "content-security-policy: default-src 'none'",
      "frame-ancestors 'none'",
      "cross-origin-resource-policy: same-origin",
      "cross-origin-opener-policy: same-origin",
      "x-frame-options: deny",
    ].filter((one) => !answer.includes(one));
    expect
      .soft([text.slice(0, 60), answer.slice(9, 12), missing])
      .toEqual([text.slice(0, 60), answer.slice(9, 12), []]);
  }
});
