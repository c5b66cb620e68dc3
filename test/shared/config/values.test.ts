import { expect, test } from "vitest";
import { parseConfig } from "../../../src/shared/config/config.ts";
import { metaOf } from "../../../src/shared/config/config-field.ts";
import { sharedFields } from "../../../src/shared/config/schema.ts";
import { same, testValues, type Values, wholeNumbers } from "./config-values.ts";
import { setupText } from "./setup-text.ts";

const yesOrNo: Values = {
  good: [
    ["yes", true],
    ["no", false],
  ],
  bad: ["true", "1", "Yes", "off"],
};

const values: Record<keyof typeof sharedFields, Values> = {
  KIOSK_PORT: {
    good: [
      ["0", 0],
      ["8768", 8768],
    ],
    bad: ["-1", "65536", "web"],
  },
  KIOSK_APP: { good: same("/opt/kiosk/pages"), bad: ["pages", "./pages"] },
  SERIAL_PORT: {
    good: same(
      "COM1",
      "COM8",
      "COM256",
      "/dev/ttyUSB0",
      "/dev/serial/by-id/usb-FTDI_FT232R_A50285BI-if00-port0",
      "/dev/cu.usbserial-1420",
      "/opt/kiosk/terminal",
      "usb:0403:6001",
      "usb:0B00:00ff:A50285BI",
      "usb:0403:6001:serial:with:colons",
      "tcp://192.0.2.7:20007",
      "tcp://terminal-1.example:1",
      "tcp://[2001:db8::7]:65535",
      "tcp://[::1]:20007",
    ),
    bad: [
      "usb:",
      "usb:403:6001",
      "usb:0403:6001:",
      "usb:0403:600g",
      "usb:0403:6001:two words",
      "usb:0403",
      "COM0",
      "COM",
      "COM1000",
      "com8",
      "/dev/",
      "/dev//x",
      "/dev/../etc/passwd",
      "/",
      "ttyUSB0",
      "/dev/tty USB0",
      "tcp://192.0.2.7",
      "tcp://192.0.2.7:0",
      "tcp://192.0.2.7:020007",
      "tcp://192.0.2.7:65536",
      "tcp://192.0.2.7:99999",
      "tcp://192.0.2.7:20007/",
      "tcp://:20007",
      "tcp://user@192.0.2.7:20007",
      "tcp://2001:db8::7:20007",
      "tcp://[2001:db8:::7]:20007",
      "tcp://[fe80]:20007",
      "tcp://[192.0.2.7]:20007",
      "udp://192.0.2.7:20007",
    ],
  },
  CONSOLE_PORT: { ...wholeNumbers(0, 65_535), bad: ["-1", "65536", "08765", "no"] },
  LOCAL_PORT: { ...wholeNumbers(1, 65_535), bad: ["0", "65536", "08765", "8765 # x", "-1", "a"] },
  TERMINAL_MANAGER_LOGIN: {
    good: same("kiosk", "käse", "a b", "k".repeat(128)),
    bad: ["ki:osk", "k".repeat(129), "a\u0007b"],
  },
  TERMINAL_MANAGER_PWD: {
    good: same("p:w", "p#w", "p=w", "pässwörd", "p w", "'", "p".repeat(128)),
    bad: ["p".repeat(129), "a\u0000b"],
  },
  OPERATOR_LOGIN: { good: same("operator"), bad: ["op:erator", "o".repeat(129)] },
  OPERATOR_PWD: { good: same("o:p"), bad: ["o".repeat(129)] },
  METRICS_LOGIN: {
    good: [
      ["metrics:read me", { login: "metrics", password: "read me" }],
      ["m:a:b", { login: "m", password: "a:b" }],
    ],
    bad: ["metrics", ":secret", "metrics:", `${"m".repeat(129)}:s`, `m:${"s".repeat(129)}`],
  },
  JOURNAL_DAYS: wholeNumbers(30, 3_650),
  AUTO_END_OF_DAY: yesOrNo,
  TERMINAL_SHARED: yesOrNo,
  LOG_DAYS: { ...wholeNumbers(1, 3_650) },
  TICKET_WIDTH: { ...wholeNumbers(16, 99) },
  LANGUAGE: { good: same("en", "de", "fr", "it", "es"), bad: ["EN", "pt"] },
  REPEAT_MUST_MATCH: { good: same("amount", "all"), bad: ["All", "none"] },
  SERIAL_BAUD: {
    good: [
      ["9600", 9_600],
      ["115200", 115_200],
    ],
    bad: ["9601", "0", "fast"],
  },
  SERIAL_STOP_BITS: {
    good: [
      ["1", 1],
      ["2", 2],
    ],
    bad: ["0", "3", "1.5"],
  },
  TERMINAL_PASSWORD: {
    good: same("000000", "123456"),
    bad: ["12345", "1234567", "abcdef", "12 456", "-12345"],
  },
  CURRENCY: {
    good: same("EUR", "CHF", "JPY"),
    bad: ["eur", "X".repeat(3), "XAU", "XTS", "€", "EURO", "978", "constructor"],
  },
  PAYMENT_TIMEOUT: wholeNumbers(1, 900),
  PAYMENT_GRACE: wholeNumbers(1, 300),
  ALLOWED_ORIGINS: {
    good: [
      ["http://localhost:3000", ["http://localhost:3000"]],
      ["http://a.example, https://b.example", ["http://a.example", "https://b.example"]],
      ["http://a.example  https://b.example", ["http://a.example", "https://b.example"]],
    ],
    bad: [
      "*",
      "null",
      "localhost",
      "http://localhost:3000/",
      "http://localhost:3000/page",
      "http://LOCALHOST",
      "https://b.example:443",
      "http://a.example;http://b.example",
      "http://user:word@a.example",
      "file:///page",
    ],
  },
  GATEWAY_URL: {
    good: same(
      "https://gateway.example",
      "https://gateway.example/",
      "https://gateway.example:8443/soap/v2/",
      "http://localhost:8080",
      "http://127.0.0.1:8080/x",
      "http://127.9.9.9",
      "http://[::1]:8080",
    ),
    bad: [
      "http://gateway.example",
      "http://127.0.0.1.evil.example",
      "http://localhost.evil.example",
      "http://192.0.2.1",
      "ftp://gateway.example",
      "gateway.example",
      "https:gateway.example",
      "https:///gateway.example",
      "https:\\\\gateway.example",
      "https://gate way.example",
      "https://me@gateway.example",
      "https://me:secret@gateway.example",
      "https://:secret@gateway.example",
      "https://gateway.example?a=b",
      "https://gateway.example?",
      "https://gateway.example/#top",
      "https://gateway.example#",
      "https://gateway.example:99999",
      "https://gateway.example:0",
      "https://",
    ],
  },
  GATEWAY_LOGIN: { good: same("12345.gateway.example", "l".repeat(255)), bad: ["l".repeat(256)] },
  GATEWAY_PWD: { good: same("p".repeat(32), "a:b"), bad: ["p".repeat(33), "a\u0001b"] },
  GATEWAY_WEBSITE_ID: { good: same("1", "12345678901"), bad: ["123456789012", "a1", "-1", "1.0"] },
  GATEWAY_CATEGORY_ID: { good: same("42"), bad: ["123456789012", "x"] },
  GATEWAY_CALLBACK_URL: {
    good: same("https://shop.example/notify?x=1", "http://192.0.2.1:8080/n"),
    bad: [
      "shop.example",
      "ftp://shop.example",
      "https://me:secret@shop.example/",
      "https://:secret@shop.example/",
      `https://shop.example/${"n".repeat(250)}`,
    ],
  },
  GATEWAY_LOCALE: { good: same("en_GB", "fr_FR"), bad: ["en", "en-GB", "EN_gb", "en_GBR"] },
  GATEWAY_RATING: { good: same("+12", "+16", "+18", "ALL"), bad: ["all", "18", "+21"] },
  GATEWAY_CUSTOMER_IP: {
    good: same("127.0.0.1", "255.255.255.255", "2001:db8::7"),
    bad: ["2001:db8:1111:2222::7", "256.0.0.1", "1.2.3", "01.2.3.4", "localhost", "1.2.3.4/8"],
  },
  GATEWAY_API_KEY: { good: same("k:e#y", "k".repeat(128)), bad: ["k".repeat(129), "a\u0000b"] },
  GATEWAY_CA_FILE: {
    good: same("/etc/ssl/kiosk proxy.pem", "/ca.pem"),
    bad: ["ca.pem", "./ca.pem", "~/ca.pem", `/${"c".repeat(1_024)}`],
  },
  FLEET_URL: {
    good: same(
      "mqtts://broker.example",
      "mqtts://[2001:db8::7]:8883",
      "mqtt://127.0.0.1:1883",
      "wss://broker.example",
      "wss://[2001:db8::7]:8443/a/mqtt",
      "ws://localhost:9001/",
    ),
    bad: [
      "mqtt://broker.example",
      "https://broker.example",
      "mqtts://me:secret@broker.example",
      "mqtts://broker.example/path",
      "mqtts://broker.example?x=1",
      "broker.example:8883",
      "ws://broker.example/mqtt",
      "wss://me:secret@broker.example/mqtt",
      "wss://broker.example/mqtt?token=1",
      "wss://broker.example/a b",
      "wss:///mqtt",
      "mqtt://127.0.0.1.example",
      "mqtts://",
      "mqtts://broker.example:0",
    ],
  },
  FLEET_MQTT: { good: same("5", "3.1.1"), bad: ["4", "3.1", "5.0", "auto"] },
  FLEET_ID: { good: same("kiosk_7-left", "k".repeat(64)), bad: ["a/b", "+", "#", "k".repeat(65)] },
  FLEET_LABELS: {
    good: [
      ["site=zurich-hb, floor=2", { site: "zurich-hb", floor: "2" }],
      [[..."abcdefgh"].map((key) => `${key}=1`).join(" "), expect.objectContaining({ h: "1" })],
    ],
    bad: [
      ..."site site= =hb a==b a=b=c Site=hb site=Zürich site=ｈｂ a=z_hb __proto__=x".split(" "),
      "a=1 b=2 a=3",
      `a=${"b".repeat(33)}`,
      [..."abcdefghi"].map((key) => `${key}=1`).join(","),
      "a=4111111111111111",
      "4111-1111-1111-1111=a",
      "4111-1111=1111-1111",
      "a=41111111 b=11111111",
      "40000566=a 55665556=b",
      "4000=0566 5566=5556",
    ],
  },
  FLEET_USER: { good: same("a:b"), bad: ["u".repeat(256)] },
  FLEET_PASSWORD: { good: same("p#ss"), bad: ["p".repeat(256), "a\u0000b"] },
  FLEET_CERT_FILE: { good: same("/etc/kiosk.pem"), bad: ["kiosk.pem"] },
  FLEET_KEY_FILE: { good: same("/etc/kiosk.key"), bad: ["kiosk.key"] },
  FLEET_CA_FILE: { good: same("/etc/ca.pem"), bad: ["ca.pem"] },
  FLEET_PAYMENTS: yesOrNo,
  FLEET_COMMANDS: yesOrNo,
  FLEET_UPLOAD_URL: {
    good: same("https://support.example/kiosks/", "https://support.example/"),
    bad: [
      "http://support.example/",
      "https://support.example/kiosks",
      "https://a:b@s.example/",
      "https://support.example/?a=/",
      "https://support.example/a/../",
    ],
  },
  PROXY_URL: {
    good: same("http://proxy.example:3128", "https://proxy.example", "http://[2001:db8::7]:3128/"),
    bad: [
      "proxy.example:3128",
      "http://me:secret@proxy.example:3128",
      "http://proxy.example:3128/path",
      "http://proxy.example/?x=1",
      "socks5://proxy.example:1080",
      "http://proxy.example:0",
    ],
  },
  PROXY_USER: { good: same("ACME\\kiosk"), bad: ["a:b", "u".repeat(129)] },
  PROXY_PASSWORD: { good: same("p#s/s@:%"), bad: ["p".repeat(256), "a\u0000b"] },
  NO_PROXY: { good: same("*", ".example, 10.0.0.0/8"), bad: ["n".repeat(1_025)] },
  PROXY_CA_FILE: { good: same("/etc/ssl/proxy.pem"), bad: ["proxy.pem"] },
  NOTIFICATION_PORT: { ...wholeNumbers(1, 65_535), bad: ["0", "65536", "08766", "off", "-1"] },
  NOTIFICATION_HOST: {
    good: same("127.0.0.1", "0.0.0.0", "::", "2001:db8::7"),
    bad: ["localhost", "256.0.0.1", "*", "127.0.0.1:80", "[::1]"],
  },
  NOTIFICATION_DIGEST_SECRETS: {
    good: [
      ["salt", ["salt"]],
      ["  a:b   c,d#e ", ["a:b", "c,d#e"]],
      ["s".repeat(128), ["s".repeat(128)]],
      ["1 2 3 4 5 6 7 8", ["1", "2", "3", "4", "5", "6", "7", "8"]],
    ],
    bad: ["s".repeat(129), "1 2 3 4 5 6 7 8 9", "a\u0007b"],
  },
  NOTIFICATION_SECRET: { good: same("a:b", "s".repeat(128)), bad: ["s".repeat(129), "a\u0007b"] },
  GATEWAY_WAIT: { ...wholeNumbers(0, 60_000), bad: ["-1", "60001", "00", "5s"] },
  GATEWAY_TIMEOUT: wholeNumbers(1_000, 120_000),
  UPDATE_TIME: {
    good: same("00:00", "03:30", "23:59"),
    bad: ["24:00", "3:30", "03:60", "0330", "03:30:00", "03:3", "-1:30", "noon"],
  },
  UPDATE_URL: {
    good: same("https://updates.example/connector", "http://127.0.0.1:8080", "http://localhost/x"),
    bad: [
      "http://updates.example",
      "updates.example",
      "https://me:secret@updates.example",
      "ftp://x",
    ],
  },
  UPDATE_CHANNEL: {
    good: same("stable", "beta-2"),
    bad: ["Stable", "-beta", "a b", "b".repeat(33)],
  },
  UPDATE_CA_FILE: { good: same("/etc/ssl/updates.pem"), bad: ["updates.pem", "./updates.pem"] },
  LOG_LEVEL: { good: same("debug", "info", "warn", "error"), bad: ["DEBUG", "trace", "all"] },
};

testValues(sharedFields, values);

test("every one of the examples of SERIAL_PORT is accepted", () => {
  const examples = metaOf(sharedFields.SERIAL_PORT).example.split(", ");
  expect(examples.length).toBe(4);
  for (const example of examples) {
    expect(parseConfig(setupText({ SERIAL_PORT: example }), "tp-manager").faults).toEqual([]);
  }
});
