import { expect, test } from "vitest";
import { consolePortOf } from "../../../src/shared/config/schema.ts";

test.each([
  ["the port after LOCAL_PORT", undefined, 8765, 9_000, 8766],
  ["the port after that, where notifications have the first one", undefined, 8765, 8766, 8767],
  ["the port that was chosen", 9_100, 8765, 8766, 9_100],
  ["no port with 0", 0, 8765, 9_000, undefined],
  ["no port where LOCAL_PORT is the last one", undefined, 65_535, 9_000, undefined],
  ["no port where only notifications have room", undefined, 65_534, 65_535, undefined],
])("the console is on %s", (_where, given, local, notifications, port) => {
  const settings = { LOCAL_PORT: local, NOTIFICATION_PORT: notifications };
  expect(consolePortOf({ CONSOLE_PORT: given, ...settings })).toBe(port);
});
