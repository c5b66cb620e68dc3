import { describe, expect, test } from "vitest";
import { type Config, parseConfig } from "../../../src/shared/config/config.ts";
import { metaOf } from "../../../src/shared/config/config-field.ts";
import { sharedFields } from "../../../src/shared/config/schema.ts";
import { caisseApDriver } from "../../../src/tp-manager/terminal/caisse-ap/caisse-ap-driver.ts";
import { concertDriver } from "../../../src/tp-manager/terminal/concert/concert-driver.ts";
import { nexoDriver } from "../../../src/tp-manager/terminal/nexo/nexo-driver.ts";
import { driverFor, protocolPart, setupOf } from "../../../src/tp-manager/terminal/registry.ts";
import { zvtDriver } from "../../../src/tp-manager/terminal/zvt/zvt-driver.ts";
import { same, testValues, type Values, yesOrNo } from "../../shared/config/config-values.ts";
import { setupText } from "../../shared/config/setup-text.ts";

const parse = (text: string) => parseConfig(text, "tp-manager", protocolPart);

const values: Readonly<Record<string, Values>> = {
  TERMINAL_PROTOCOL: { good: same("zvt", "concert", "caisse-ap"), bad: ["ZVT", "opi", "none"] },
  ZVT_CONFIG_BYTE: {
    good: same("BE", "3e"),
    bad: ["B", "0xBE", "BEE", "XX"],
  },
  ZVT_PROFILE: { good: same("standard", "card-complete", "ccv"), bad: ["CCV", "other"] },
  ZVT_CHARSET: { good: same("cp437", "iso8859-15", "zvt7"), bad: ["latin1", "CP437"] },
  ZVT_SEND_LAST_RECEIPT: { good: yesOrNo, bad: ["true", "1f1f"] },
  ZVT_PRINTS_COUNT: { good: yesOrNo, bad: ["true"] },
  ZVT_LOG_OFF: { good: yesOrNo, bad: ["86", "true"] },
  ZVT_MESSAGE_IDS: { good: same("auto", "off"), bad: ["yes", "Auto", "1f73"] },
  ZVT_T1_MS: { good: [["1000", 1_000]], bad: ["1001", "4", "0200", "x"] },
  ZVT_T2_MS: { good: [["30000", 30_000]], bad: ["30001", "19", "05000"] },
  ZVT_T3_MS: { good: [["60000", 60_000]], bad: ["60001", "49"] },
  ZVT_T4_MS: { good: [["900000", 900_000]], bad: ["900001", "499"] },
  POLL_INTERVAL_MS: { good: [["60000", 60_000]], bad: ["60001", "99"] },
  CONCERT_VARIANT: { good: same("e", "e-plus", "e-ticket"), bad: ["E", "e+", "v3"] },
  CONCERT_REPORT: { good: yesOrNo, bad: ["1", "true"] },
  CONCERT_REGISTER: { good: same("01", "99", "B8"), bad: ["1", "001", "b8", "0 "] },
  CONCERT_LINE: { good: same("7E1", "8N1"), bad: ["7N1", "8n1"] },
  CONCERT_PROFILE: {
    good: same("standard", "pax-nepting", "ingenico-desk5000"),
    bad: ["pax", "Standard"],
  },
  CAISSE_AP_LINK: { good: same("bare", "session"), bad: ["tcp", "Bare"] },
  CAISSE_AP_VERSION: { good: same("0300", "0320"), bad: ["0301", "3.20"] },
  CAISSE_AP_ID: { good: same("012345678901", "247300123456"), bad: ["012", "0123456789012"] },
  CAISSE_AP_END: { good: same("none", "crlf"), bad: ["lf", "CRLF"] },
  CAISSE_AP_REFERENCE: { good: same("cf", "ch", "none"), bad: ["CF", "cz"] },
  CAISSE_AP_RECEIPT: { good: same("customer", "none"), bad: ["100", "merchant"] },
  NEXO_POIID: {
    good: same("P400Plus-275039202", "TG300-G10M257M70004"),
    bad: ["275039202", "P400Plus", "P4-275039202", "P400Plus_275039202"],
  },
  NEXO_SALE_ID: { good: same("kiosk", "k_1-2"), bad: ["a kiosk", "x".repeat(21)] },
  NEXO_ENVIRONMENT: { good: same("live", "test"), bad: ["TEST", "beta"] },
  NEXO_CA_FILE: { good: same("/etc/root.pem"), bad: ["root.pem"] },
  NEXO_KEY_IDENTIFIER: { good: same("kiosk-key"), bad: ["a key", "Schlüssel"] },
  NEXO_KEY_VERSION: { good: [["0", 0]], bad: ["-1", "01"] },
  NEXO_KEY_PASSPHRASE: { good: same("a phrase, ASCII"), bad: ["Schlüssel", "x".repeat(129)] },
  NEXO_PAYMENT_LIMIT_MS: { good: [["900000", 900_000]], bad: ["900001", "499"] },
  NEXO_BUSY_WAIT_MS: { good: [["10000", 10_000]], bad: ["10001"] },
  NEXO_NOTIFY_PORT: { good: [["8443", 8_443]], bad: ["0", "65536"] },
  NEXO_NOTIFY_CERT_FILE: { good: same("/etc/notify.pem"), bad: ["notify.pem"] },
  NEXO_NOTIFY_KEY_FILE: { good: same("/etc/notify.key"), bad: ["notify.key"] },
  RECOVERY_SILENCE_MS: { good: [["120000", 120_000]], bad: ["120001", "-1"] },
  TEST_TIMERS: { good: yesOrNo, bad: ["true", "1", "YES", "on"] },
};

testValues(protocolPart.fields, values, protocolPart);

test("a minimal file chooses ZVT with the protocol's own timers", () => {
  const config = parse(setupText()).config as Config;
  expect(config).toMatchObject({ TERMINAL_PROTOCOL: "zvt", TEST_TIMERS: false });
  expect(driverFor(config).protocol).toBe("zvt");
});

test("a setting that two drivers add to the setup file means the same to both", () => {
  const { TERMINAL_PROTOCOL: _choice, TEST_TIMERS: _floors, ...added } = protocolPart.fields;
  for (const { config } of [zvtDriver, concertDriver, caisseApDriver, nexoDriver]) {
    for (const [name, schema] of Object.entries(config.fields)) {
      expect(added, name).toHaveProperty(name);
      expect(metaOf(schema), name).toEqual(metaOf(added[name] ?? schema));
    }
  }
});

test("a mistyped setting of a driver gets a warning with the nearest name", () => {
  expect(parse(`${setupText()}ZVT_T5_MS=1\n`).warnings).toEqual([
    expect.stringMatching(/^line 12: ZVT_T5_MS is not a known name, did you mean ZVT_T\d_MS\?$/),
  ]);
});

test.each([
  // Field 01 of a sale: two repeats of our answer on a serial line and T3, at least the silence.
  ["", 15_000],
  ["ZVT_T2_MS=6000\nZVT_T3_MS=8000\n", 20_000],
  ["RECOVERY_SILENCE_MS=40000\n", 40_000],
  ["TEST_TIMERS=yes\nZVT_T2_MS=20\nZVT_T3_MS=50\nRECOVERY_SILENCE_MS=60\n", 90],
])("with %j the second probe comes after %d ms of silence", (lines, silenceMs) => {
  const config = parse(setupText() + lines).config as Config;
  expect(driverFor(config).confirmAfterMs(config)).toBe(silenceMs);
});

test("a configuration that was read without the drivers' names opens no driver", () => {
  const { config } = parseConfig(setupText(), "supervisor");
  expect(() => driverFor(config as Config)).toThrow("TERMINAL_PROTOCOL");
});

test("the last receipt is sent only to a terminal that begins no payment by itself", () => {
  const text = `${setupText()}ZVT_SEND_LAST_RECEIPT=yes\n`;
  expect(parse(text).faults).toEqual([]);
  expect(parse(`${text}ZVT_CONFIG_BYTE=8E\n`).faults).toMatchObject([
    { line: 12, message: expect.stringContaining("bit 10") },
  ]);
  expect(parse(`${setupText()}ZVT_CONFIG_BYTE=8E\n`).faults).toEqual([]);
});

describe("a terminal that proves its name by a certificate", () => {
  const serial = `${setupText()}TERMINAL_PROTOCOL=nexo\n`;
  const nexo = serial.replace(/SERIAL_PORT=.*/, "SERIAL_PORT=tcp://192.0.2.7:8443");
  const named = `${nexo}NEXO_POIID=P400Plus-275039202\nNEXO_CA_FILE=/etc/root.pem\n`;
  const key = "NEXO_KEY_IDENTIFIER=kiosk\nNEXO_KEY_PASSPHRASE=a phrase\n";

  test.each<[string, string[]]>([
    [nexo, ["NEXO_POIID", "NEXO_CA_FILE", "NEXO_KEY_IDENTIFIER", "NEXO_KEY_PASSPHRASE"]],
    [named, ["NEXO_KEY_IDENTIFIER", "NEXO_KEY_PASSPHRASE"]],
    [`${named}${key}`, []],
    [`${named}${key}`.replace(/SERIAL_PORT=.*/, "SERIAL_PORT=/dev/ttyUSB0"), ["SERIAL_PORT"]],
    [`${named}NEXO_ENVIRONMENT=test\n`, []],
    [`${named}NEXO_ENVIRONMENT=test\nNEXO_KEY_IDENTIFIER=kiosk\n`, ["NEXO_KEY_PASSPHRASE"]],
    [`${setupText()}NEXO_ENVIRONMENT=live\n`, []],
    [`${named}${key}NEXO_NOTIFY_PORT=8443\n`, ["NEXO_NOTIFY_CERT_FILE", "NEXO_NOTIFY_KEY_FILE"]],
  ])("needs all that proves it: %j lacks %j", (text, lacks) => {
    const messages = parse(text).faults.map(({ message }) => message);
    expect(messages.map((message) => message.split(" ")[0])).toEqual(lacks);
  });
});

describe("protocol timers", () => {
  const fields = { ...sharedFields, ...protocolPart.fields };
  const floors = Object.entries(fields).flatMap(([name, field]) => {
    const { floor } = metaOf(field);
    return floor === undefined ? [] : [[name, floor] as const];
  });

  test("have the protocol's own lower limits", () => {
    expect(Object.fromEntries(floors)).toEqual({
      PAYMENT_TIMEOUT: 10, // seconds
      ZVT_T1_MS: 200,
      ZVT_T2_MS: 5_000,
      ZVT_T3_MS: 5_000,
      ZVT_T4_MS: 60_000,
      POLL_INTERVAL_MS: 3_000,
      NEXO_PAYMENT_LIMIT_MS: 250_000,
      RECOVERY_SILENCE_MS: 10_000,
    });
  });

  test.each(floors)("include %s, which refuses less than %d", (name, floor) => {
    const below = `${name}=${floor - 1}\n`;
    expect(parse(`${setupText()}${name}=${floor}\n`).faults).toEqual([]);
    expect(parse(setupText() + below).faults).toEqual([
      { line: 12, message: `${name} must be at least ${floor} with a real terminal` },
    ]);
    expect(parse(`${setupText()}TEST_TIMERS=yes\n${below}`).faults).toEqual([]);
    expect(parse(`${setupText()}TEST_TIMERS=no\n${below}`).faults.length).toBe(1);
    expect(parse(`${setupText()}TEST_TIMERS=maybe\n${below}`).faults.length).toBe(2);
  });

  test("have defaults that keep their own floors", () => {
    const config = parse(setupText()).config as Record<string, unknown> | undefined;
    for (const [name, floor] of floors) expect(config?.[name]).toBeGreaterThanOrEqual(floor);
  });
});

test("what a terminal has shown is another terminal's when line or settings change", () => {
  const setupWith = (lines: string): string => {
    const { config } = parse(setupText() + lines);
    return config ? setupOf(config as Parameters<typeof setupOf>[0]) : "";
  };
  const setups = ["", "TERMINAL_PROTOCOL=concert\n", "TERMINAL_PROTOCOL=caisse-ap\n"].map(
    setupWith,
  );
  setups.push(setupWith("TERMINAL_PROTOCOL=concert\nCONCERT_REGISTER=02\n"));
  setups.push(setupWith("TERMINAL_PROTOCOL=concert\nCONCERT_PROFILE=pax-nepting\n"));
  expect(new Set(setups).size).toBe(5);
  expect(setupWith("TERMINAL_PROTOCOL=concert\nLOG_DAYS=3\n")).toBe(setups[1]);
});
