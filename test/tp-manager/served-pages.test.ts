import { expect, onTestFinished, test } from "vitest";
import { openPages } from "../../src/tp-manager/served-pages.ts";
import { house } from "../support/house/payment-house.ts";
import { freePort } from "../support/programs/installation.ts";
import { apiOptions } from "./http/rig.ts";

/** A port that no address has, so that listening on it fails with an error of another kind. */
const NO_PORT = 70_000;

async function pagesWith(config: object) {
  const stops: Array<() => unknown> = [];
  onTestFinished(() => void stops.map((stop) => stop()));
  const context = { config, onStop: (_: string, stop: () => unknown) => stops.push(stop) };
  return await openPages(context as never, apiOptions(house()));
}

test("a page with the port of another setting is not opened, and the others are", async () => {
  const port = await freePort();
  const ports = { LOCAL_PORT: port, CONSOLE_PORT: port, KIOSK_PORT: port, KIOSK_APP: "/nowhere" };
  expect(await pagesWith({ ...ports, NOTIFICATION_HOST: "127.0.0.1" })).toEqual([
    { name: "console", port, fault: `CONSOLE_PORT ${port} is LOCAL_PORT too` },
    { name: "kiosk pages", port, fault: `KIOSK_PORT ${port} is LOCAL_PORT too` },
  ]);
  const own = { ...ports, LOCAL_PORT: 1, KIOSK_PORT: 0, NOTIFICATION_HOST: "192.0.2.1" };
  const apart = await pagesWith({ ...own, NOTIFICATION_PORT: port });
  expect(apart).toEqual([{ name: "console", port, fault: null }]);
});

test("a console that cannot be opened for any reason prevents no payment", async () => {
  const pages = await pagesWith({ CONSOLE_PORT: NO_PORT, KIOSK_PORT: 0 });
  expect(pages).toMatchObject([{ name: "console", port: NO_PORT }]);
  expect(pages[0]?.fault).toContain("70000");
});
