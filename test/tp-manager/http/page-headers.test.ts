import { expect, onTestFinished, test } from "vitest";
import { openRunDirectory } from "../../../src/shared/ipc/run-directory.ts";
import { createConsole } from "../../../src/tp-manager/console/console.ts";
import { type ApiOptions, createApi } from "../../../src/tp-manager/http/app.ts";
import { listenOnLoopback } from "../../../src/tp-manager/http/door/loopback-server.ts";
import { createKiosk } from "../../../src/tp-manager/kiosk/kiosk.ts";
import { sandboxForTest } from "../../simulator/gateway/sandbox-for-test.ts";
import { startTerminalSimulator } from "../../simulator/terminal/support/start-simulator.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { house } from "../../support/house/payment-house.ts";
import { freePort } from "../../support/programs/installation.ts";
import { apiOptions, authorization } from "./rig.ts";

/** All that Chromium keeps of one name: 180 cookies of 4,096 bytes. */
const allCookies = Array.from({ length: 180 }, (_, at) => `${at}=`.padEnd(4_096, "x")).join("; ");

type Server = Parameters<typeof listenOnLoopback>[0];

async function listens(make: (options: ApiOptions) => Server | Promise<Server>) {
  const port = await freePort();
  const options = apiOptions(house(), { port });
  const server = await listenOnLoopback(await make(options), port, options);
  onTestFinished(() => server.close());
  return `http://localhost:${port}`;
}

const pages: Readonly<Record<string, () => Promise<string>>> = {
  console: () => listens(createConsole),
  kiosk: () =>
    listens((options) => {
      const runDirectory = openRunDirectory(temporaryFolder());
      return createKiosk({ ...options, folder: temporaryFolder(), runDirectory });
    }),
  "terminal to touch": async () => {
    const terminal = await startTerminalSimulator({
      tcp: { host: "127.0.0.1", port: 0 },
      controlPort: 0,
    });
    onTestFinished(() => terminal.close());
    return `${terminal.controlUrl}`;
  },
  "gateway's sandbox": async () => (await sandboxForTest()).url,
};

const statuses = async (url: string, cookie: string) => {
  const headers = { cookie, accept: "text/html", authorization };
  const six = url.replace(/127\.0\.0\.1|localhost/, "[::1]");
  const asked = [url, six].map((one) => fetch(one, { headers }).catch(() => undefined));
  return (await Promise.all(asked)).flatMap((answer) => answer?.status ?? []);
};

test.each(Object.entries(pages))("cookies keep nobody from the %s", async (_name, open) => {
  const url = await open();
  const [usual] = await statuses(url, "");
  const many = await statuses(url, allCookies);
  expect(many.length).toBeGreaterThan(0);
  expect([...new Set(many)]).toEqual([usual]);
  expect(new Set(await statuses(url, allCookies.repeat(2)))).toEqual(new Set([431]));
});

test("the local API takes 16 KiB of headers and no more, on both addresses", async () => {
  const url = `${await listens(createApi)}/version`;
  expect(new Set(await statuses(url, "x".repeat(15_000)))).toEqual(new Set([200]));
  expect(new Set(await statuses(url, "x".repeat(17_000)))).toEqual(new Set([431]));
});
