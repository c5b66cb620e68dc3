import { expect, onTestFinished, test } from "vitest";
import type { Config } from "../../src/shared/config/schema.ts";
import { openPages } from "../../src/tp-manager/served-pages.ts";
import { house } from "../support/house/payment-house.ts";
import { apiOptions } from "./http/rig.ts";

/** A port that no address has, so that listening on it fails with an error of another kind. */
const NO_PORT = 70_000;

test("a console that cannot be opened for any reason prevents no payment", async () => {
  const stops: Array<() => unknown> = [];
  onTestFinished(() => void stops.map((stop) => stop()));
  const config = { CONSOLE_PORT: NO_PORT, KIOSK_PORT: 0 } as unknown as Config;
  const context = { config, onStop: (_: string, stop: () => unknown) => stops.push(stop) };
  const pages = await openPages(context as never, apiOptions(house()));
  expect(pages).toMatchObject([{ name: "console", port: NO_PORT }]);
  expect(pages[0]?.fault).toContain("70000");
});
