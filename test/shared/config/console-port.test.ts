import { expect, test } from "vitest";
import { consolePortOf } from "../../../src/shared/config/schema.ts";

test.each([
  ["the port after LOCAL_PORT", undefined, 8765, 9_000, 0, 8766],
  ["the port after that, where notifications have the first one", undefined, 8765, 8766, 0, 8767],
  [
    "the port after that, where the kiosk's pages have the first one",
    undefined,
    8765,
    1,
    8766,
    8767,
  ],
  ["the third port, where both others have one", undefined, 8765, 8767, 8766, 8768],
  ["the port that was chosen", 9_100, 8765, 8766, 0, 9_100],
  ["no port with 0", 0, 8765, 9_000, 0, undefined],
  ["no port where LOCAL_PORT is the last one", undefined, 65_535, 9_000, 0, undefined],
  ["no port where only notifications have room", undefined, 65_534, 65_535, 0, undefined],
])("the console is on %s", (_where, given, local, notifications, kiosk, port) => {
  const kioskPages = { KIOSK_PORT: kiosk, KIOSK_APP: "/srv/kiosk" };
  const settings = { LOCAL_PORT: local, NOTIFICATION_PORT: notifications, ...kioskPages };
  expect(consolePortOf({ CONSOLE_PORT: given, ...settings })).toBe(port);
});

test("the console does not make way for a kiosk's port without pages", () => {
  const kioskPages = { KIOSK_PORT: 8766, KIOSK_APP: undefined };
  const settings = { LOCAL_PORT: 8765, NOTIFICATION_PORT: 1, ...kioskPages };
  expect(consolePortOf({ CONSOLE_PORT: undefined, ...settings })).toBe(8766);
});
