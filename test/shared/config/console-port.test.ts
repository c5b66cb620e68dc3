import { expect, test } from "vitest";
import { parseConfig } from "../../../src/shared/config/config.ts";
import { consolePortOf } from "../../../src/shared/config/schema.ts";
import { setupText } from "./setup-text.ts";

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

const ports = { LOCAL_PORT: "8765", CONSOLE_PORT: "8770", KIOSK_PORT: "8771" };
const read = (program: "tp-manager" | "supervisor", changes: Record<string, string>) => {
  const text = setupText({ ...ports, KIOSK_APP: "/opt/kiosk", ...changes });
  const { config, faults, warnings } = parseConfig(text, program);
  const said = [...faults.map(({ line, message }) => `fault ${line}: ${message}`), ...warnings];
  return { starts: config !== undefined, said };
};
const equal = (line: number, name: string, port: number, other: string) =>
  `line ${line}: ${name} ${port} is ${other} too; only one of the two can use the port`;

test.each([
  ["no two are equal", {}, []],
  ["0 is no port", { CONSOLE_PORT: "0", KIOSK_PORT: "0" }, []],
  ["the console's", { CONSOLE_PORT: "8765" }, [equal(12, "CONSOLE_PORT", 8765, "LOCAL_PORT")]],
  ["the kiosk's pages", { KIOSK_PORT: "8765" }, [equal(13, "KIOSK_PORT", 8765, "LOCAL_PORT")]],
  ["two pages", { KIOSK_PORT: "8770" }, [equal(13, "KIOSK_PORT", 8770, "CONSOLE_PORT")]],
  [
    "a page and the notifications",
    { NOTIFICATION_PORT: "8770" },
    [equal(12, "CONSOLE_PORT", 8770, "NOTIFICATION_PORT")],
  ],
  ["notifications elsewhere", { NOTIFICATION_PORT: "8770", NOTIFICATION_HOST: "192.0.2.1" }, []],
  ["no console's port", { CONSOLE_PORT: "", NOTIFICATION_PORT: "8766" }, []],
])("equal ports of pages are a warning: %s", (_what, changes, said) => {
  for (const program of ["tp-manager", "supervisor"] as const) {
    expect(read(program, changes)).toEqual({ starts: true, said });
  }
});

test.each(["127.0.0.1", "::1", "0.0.0.0", "::"])(
  "LOCAL_PORT for notifications on %s is a fault",
  (host) => {
    const changes = { NOTIFICATION_PORT: "8765", NOTIFICATION_HOST: host };
    const fault = equal(15, "NOTIFICATION_PORT", 8765, "LOCAL_PORT").replace("line", "fault");
    const wide = process.platform === "win32" && /^(0\.0\.0\.0|::)$/.test(host);
    // The supervisor could not listen; tp-manager starts, because a kiosk may pay in this state.
    expect(read("supervisor", changes)).toEqual({ starts: wide, said: wide ? [] : [fault] });
    expect(read("tp-manager", changes)).toEqual({ starts: true, said: [] });
  },
);
