import { isIP } from "node:net";
import { z } from "zod";
import { currencyOf } from "../money.ts";
import {
  type ConfigPart,
  described,
  integer,
  isLoopback,
  isWebAddress,
  oneOf,
  PORT_MAX,
  text,
  type ValuesOf,
  wholePath,
  yesNo,
} from "./config-field.ts";
import { fleetFields } from "./fleet-schema.ts";
import { parseUsbAddress } from "./serial-ports.ts";
import { holdsCredentials } from "./shown-entry.ts";

/**
 * The names of data/config.txt that belong to no driver: type, range, default, help. The only place
 * that knows them; the example file and the reference's table are made from them and from what the
 * drivers add (docs/design.md 4.2). Values arrive as text.
 */

const serialPort = z.string().refine(isSerialPort, {
  error:
    "must be a COM port, the whole path of a device, usb:vid:pid or usb:vid:pid:serial, " +
    `or tcp://host:port with a port up to ${PORT_MAX}`,
});

function isSerialPort(value: string): boolean {
  if (/^COM[1-9]\d{0,2}$/.test(value)) return true;
  if (parseUsbAddress(value)) return true;
  // Not only below /dev: operators make links where they like.
  if (/^(\/(?!\.\.?(\/|$))[^\s/]+)+$/.test(value)) return true;
  const [, address, name, port] =
    /^tcp:\/\/(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):([1-9]\d{0,4})$/.exec(value) ?? [];
  const host = address === undefined ? name !== undefined : isIP(address) === 6;
  return host && Number(port) <= PORT_MAX;
}

const basicLogin = text(128).regex(/^[^:]*$/, "must not hold a colon");

/** The gateway issues longer ones than its description allows (docs/gateway.md 2.2). */
function longLogin(login: string): string | undefined {
  const { length } = [...login];
  return length > 32
    ? `has ${length} characters, the gateway's description allows 32; right if it was issued so`
    : undefined;
}

/** https for anything that leaves the machine (docs/design.md 4.3). */
const safeUrl = z.string().refine(isSafeUrl, {
  error:
    "must be an https address without login, ? and #, " +
    "or http on this machine (localhost, 127.0.0.1, [::1])",
});

function isSafeUrl(value: string): boolean {
  if (!isWebAddress(value) || /[?#]/.test(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === "https:" || isLoopback(hostname);
}

const anyUrl = text(255).refine(isWebAddress, {
  error: "must be an http or https address without login",
});

/** 15 characters (docs/design.md 12.10, customerIpAddress): a long IPv6 address does not fit. */
const ipAddress = z.string().refine((value) => isIP(value) !== 0 && value.length <= 15, {
  error: "must be an IP address of at most 15 characters",
});

const bindAddress = z.string().refine((value) => isIP(value) !== 0, {
  error: "must be an IP address of this machine, or 0.0.0.0 for all",
});

const origins = z.string().transform((value, context) => {
  const list = value.split(/[\s,]+/).filter((origin) => origin !== "");
  for (const origin of list) {
    if (URL.canParse(origin) && new URL(origin).origin === origin) continue;
    // A login or a token in the address would be a secret.
    const shown = holdsCredentials(origin) ? "one with a login" : origin.slice(0, 60);
    context.addIssue({
      code: "custom",
      message: `must list origins (scheme://host:port), but ${shown} is none`,
    });
  }
  return list;
});

const SECRETS_MAX = 8;

/** No value is repeated in a message: it is a secret. */
const secrets = text(SECRETS_MAX * 129).transform((value, context) => {
  const list = value.split(" ").filter((secret) => secret !== "");
  if (list.length <= SECRETS_MAX && list.every(({ length }) => length <= 128)) return list;
  const message = `must list at most ${SECRETS_MAX} secrets of at most 128 characters each`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const terminalAndApi = {
  SERIAL_PORT: described(serialPort, {
    help: "Where the terminal is: a serial port, a USB device, or a terminal on the network.",
    example: "/dev/ttyUSB0, COM8, usb:0403:6001, tcp://192.0.2.7:20007",
    requiredBy: ["tp-manager"],
  }),
  LOCAL_PORT: described(integer(1, PORT_MAX), {
    help: "Port of the local API, on this machine only.",
    example: "8765",
    requiredBy: ["tp-manager"],
  }),
  CONSOLE_PORT: described(integer(0, PORT_MAX).optional(), {
    help:
      "Port of the operator's console, on this machine only; 0 for none. Without it LOCAL_PORT " +
      "and 1, or and 2 where that is NOTIFICATION_PORT.",
    example: "8767",
  }),
  KIOSK_PORT: described(integer(0, PORT_MAX).default(0), {
    help: "Port of the kiosk's own pages, on this machine only; 0 for none.",
    example: "8768",
  }),
  KIOSK_APP: described(wholePath.optional(), {
    help: "Folder with the kiosk's own pages, served on KIOSK_PORT: docs/browser-kiosk.md.",
    example: "/opt/kiosk/pages, C:\\kiosk\\pages",
  }),
  TERMINAL_MANAGER_LOGIN: described(basicLogin, {
    help: "Login of the local API (Basic authentication).",
    example: "kiosk",
    requiredBy: ["tp-manager"],
    login: true,
  }),
  TERMINAL_MANAGER_PWD: described(text(128), {
    help: "Password of the local API.",
    example: "a long random text",
    requiredBy: ["tp-manager"],
    secret: true,
  }),
  OPERATOR_LOGIN: described(basicLogin.optional(), {
    help: "Login for maintenance, which the kiosk's pair may no longer do then.",
    example: "operator",
    login: true,
  }),
  OPERATOR_PWD: described(text(128).optional(), {
    help: "Password for maintenance.",
    example: "another long random text",
    secret: true,
  }),
  SERIAL_BAUD: described(
    oneOf(["1200", "9600", "19200", "38400", "57600", "115200"]).default("9600").transform(Number),
    { help: "Speed of the serial line.", example: "115200" },
  ),
  SERIAL_STOP_BITS: described(
    oneOf(["1", "2"])
      .default("2")
      .transform((bits) => (bits === "1" ? 1 : 2)),
    { help: "Stop bits of the serial line.", example: "1" },
  ),
  TERMINAL_SHARED: described(yesNo.default(false), {
    help:
      "Others are paid at this terminal too: its totals are not compared with the journal, and " +
      "after a lost end only what the payment itself had reported proves a charge.",
    example: "yes",
  }),
  TERMINAL_PASSWORD: described(
    z
      .string()
      .regex(/^\d{6}$/, "must be six digits")
      .default("000000"),
    { help: "The terminal's cash register password.", example: "123456", secret: true },
  ),
  TICKET_WIDTH: described(integer(16, 99).default(40), {
    help: "Characters in a line of the ticket.",
    example: "24",
  }),
  LANGUAGE: described(oneOf(["en", "de", "fr"]).default("en"), {
    help: "Language of the texts about the terminal's prompts and results.",
    example: "de",
  }),
  CURRENCY: described(
    z
      .string()
      .refine((value) => currencyOf(value) !== undefined, { error: "must be an ISO 4217 code" })
      .default("EUR"),
    { help: "Currency of payments that do not name one.", example: "EUR" },
  ),
  PAYMENT_TIMEOUT: described(integer(1, 900).default(180), {
    help: "Seconds for a whole payment; then the terminal is asked to cancel it.",
    example: "120",
    floor: 10,
  }),
  PAYMENT_GRACE: described(integer(1, 300).default(30), {
    help: "Seconds the kiosk waits beyond PAYMENT_TIMEOUT for the terminal's own end.",
    example: "45",
  }),
  REPEAT_MUST_MATCH: described(oneOf(["amount", "all"]).default("amount"), {
    help: "What of a repeated order must be as it was; amount: other goods are named in warnings.",
    example: "all",
  }),
  ALLOWED_ORIGINS: described(origins.default([]), {
    help: "Origins of web pages that may call the local API; none by default.",
    example: "http://localhost:3000",
  }),
} as const;

const gateway = {
  GATEWAY_URL: described(safeUrl, {
    help: "Base address of the payment gateway's SOAP services.",
    example: "https://gateway.example",
    requiredBy: ["supervisor"],
  }),
  GATEWAY_LOGIN: described(text(255), {
    help: "Public API user name at the payment gateway.",
    example: "12345.gateway.example",
    requiredBy: ["supervisor"],
    login: true,
    doubt: longLogin,
  }),
  GATEWAY_PWD: described(text(32), {
    help: "Public API password at the payment gateway.",
    example: "Test_abcdefghijklmnopqrstuvwx",
    requiredBy: ["supervisor"],
    secret: true,
  }),
  GATEWAY_WEBSITE_ID: described(z.string().regex(/^\d{1,11}$/, "must be 1 to 11 digits"), {
    help: "Id of the website in the merchant account.",
    example: "123456",
    requiredBy: ["supervisor"],
  }),
  GATEWAY_CATEGORY_ID: described(z.string().regex(/^\d{1,11}$/, "must be 1 to 11 digits"), {
    help: "Category of the orders; the gateway lists the ids of a website.",
    example: "42",
    requiredBy: ["supervisor"],
  }),
  GATEWAY_CALLBACK_URL: described(anyUrl, {
    help: "Address the gateway sends its notifications to.",
    example: "https://shop.example/notify",
    requiredBy: ["supervisor"],
  }),
  GATEWAY_LOCALE: described(
    z
      .string()
      .regex(/^[a-z]{2}_[A-Z]{2}$/, "must look like en_GB")
      .default("en_GB"),
    { help: "Locale of the gateway's mails and pages.", example: "fr_FR" },
  ),
  GATEWAY_RATING: described(oneOf(["+12", "+16", "+18", "ALL"]).default("ALL"), {
    help: "Age category of the orders.",
    example: "+18",
  }),
  GATEWAY_CUSTOMER_IP: described(ipAddress.default("127.0.0.1"), {
    help: "Address given as the customer's.",
    example: "192.0.2.10",
  }),
  GATEWAY_API_KEY: described(text(128).optional(), {
    help: "Key of the gateway's lookup; without it login and password are used.",
    example: "a key from the merchant account",
    secret: true,
  }),
  GATEWAY_CA_FILE: described(wholePath.optional(), {
    help: "File with certificates (PEM) to trust beside the system's.",
    example: "/etc/ssl/kiosk-proxy.pem",
  }),
  NOTIFICATION_PORT: described(integer(1, PORT_MAX).optional(), {
    help: "Port on which the gateway's notifications are taken; none are without it.",
    example: "8766",
  }),
  NOTIFICATION_HOST: described(bindAddress.default("127.0.0.1"), {
    help: "Address on which notifications are taken.",
    example: "192.0.2.10",
  }),
  NOTIFICATION_DIGEST_SECRETS: described(secrets.default([]), {
    help: "What else than GATEWAY_PWD may sign notifications: a website's salt, an old password.",
    example: "salt-of-the-website old-password",
    secret: true,
    list: true,
  }),
  NOTIFICATION_SECRET: described(text(128).optional(), {
    help: "Passphrase that signs the gateway's fraud event; without it none is taken.",
    example: "the passphrase of the merchant account",
    secret: true,
  }),
  GATEWAY_WAIT: described(integer(0, 60_000).default(5_000), {
    help: "Milliseconds a payment's answer waits for the gateway's first answer.",
    example: "2000",
  }),
  GATEWAY_TIMEOUT: described(integer(1_000, 120_000).default(30_000), {
    help: "Milliseconds one request to the gateway may take.",
    example: "20000",
  }),
} as const;

const daily = {
  UPDATE_TIME: described(
    z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "must be hh:mm, from 00:00 to 23:59"),
    {
      help: "Time of day for updates and the daily chores: backup, archive, old logs.",
      example: "03:30",
      requiredBy: ["tp-manager", "supervisor"],
    },
  ),
  UPDATE_URL: described(safeUrl.optional(), {
    help: "Address of signed updates; without it nobody is asked for any.",
    example: "https://updates.example/connector",
  }),
  UPDATE_CHANNEL: described(
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "must be small letters, digits and hyphens")
      .default("stable"),
    { help: "The publisher's channel from which updates are taken.", example: "beta" },
  ),
  UPDATE_CA_FILE: described(wholePath.optional(), {
    help: "File with certificates (PEM) to trust for UPDATE_URL instead of the system's.",
    example: "/etc/ssl/updates.pem",
  }),
  AUTO_END_OF_DAY: described(yesNo.default(true), {
    help: "Runs the end of day when the terminal demands it; sales from before cannot be reversed.",
    example: "no",
  }),
  LOG_DAYS: described(integer(1, 3_650).default(30), {
    help: "Days for which logs are kept.",
    example: "90",
  }),
  JOURNAL_DAYS: described(integer(30, 3_650).default(400), {
    help: "Days for which journal and outbox keep every detail; what was charged stays for ever.",
    example: "730",
  }),
  LOG_LEVEL: described(oneOf(["debug", "info", "warn", "error"]).default("info"), {
    help: "How much is logged: debug adds every frame, card data removed.",
    example: "debug",
  }),
} as const;

/** The sections of the file in its order; what a driver adds comes behind them. */
export const sharedParts = [
  { title: "Terminal and local API", fields: terminalAndApi },
  { title: "Payment gateway", fields: gateway },
  { title: "Fleet", fields: fleetFields },
  { title: "Daily life", fields: daily },
] as const satisfies readonly ConfigPart[];

export const sharedFields = { ...terminalAndApi, ...gateway, ...fleetFields, ...daily } as const;
/**
 * Every shared value, parsed. A name is sure to be present for the program that requires it; the
 * other program has no business reading it. A value that a driver has added is read with
 * `valuesOf`.
 */
export type Config = ValuesOf<typeof sharedFields>;

/** The port of the operator's console; undefined: there is none (docs/console.md 1). */
export function consolePortOf({
  CONSOLE_PORT: given,
  LOCAL_PORT: local,
  NOTIFICATION_PORT: taken,
}: Pick<Config, "CONSOLE_PORT" | "LOCAL_PORT" | "NOTIFICATION_PORT">): number | undefined {
  if (given !== undefined) return given === 0 ? undefined : given;
  // The gateway's notifications are worth more than a page.
  const port = local + 1 === taken ? local + 2 : local + 1;
  return port <= PORT_MAX ? port : undefined;
}
