import { isIP } from "node:net";
import { z } from "zod";
import { containsPan } from "../masking/mask.ts";
import { currencyOf } from "../money.ts";
import {
  type ConfigPart,
  form,
  holdsCredentials,
  integer,
  isLoopback,
  isWebAddress,
  marked,
  oneOf,
  PORT_MAX,
  text,
  textsFrom,
  type ValueFault,
  type ValuesOf,
  wholePath,
  yesNo,
} from "./config-field.ts";
import { labelsText } from "./labels.ts";
import { parseUsbAddress } from "./serial-ports.ts";
import texts from "./settings-en.json" with { type: "json" };

/*
 * This file has the settings of data/config.txt that belong to no driver, with type, range and
 * default; settings-en.json has help and example. The example file and the reference are generated
 * from these settings and those of the drivers (docs/design.md 4.2). Values are read as text.
 */

const withTexts = textsFrom(texts);

const serialPort = z.string().refine(isSerialPort, {
  error:
    "must be a COM port, the whole path of a device, usb:vid:pid or usb:vid:pid:serial, " +
    `or tcp://host:port with a port up to ${PORT_MAX}`,
});

function isSerialPort(value: string): boolean {
  if (/^COM[1-9]\d{0,2}$/.test(value)) return true;
  if (parseUsbAddress(value)) return true;
  // Any absolute path is accepted, because operators make links to devices outside /dev.
  if (/^(\/(?!\.\.?(\/|$))[^\s/]+)+$/.test(value)) return true;
  const [, address, name, port] =
    /^tcp:\/\/(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):([1-9]\d{0,4})$/.exec(value) ?? [];
  const host = address === undefined ? name !== undefined : isIP(address) === 6;
  return host && Number(port) <= PORT_MAX;
}

const basicLogin = text(128).regex(/^[^:]*$/, "must not hold a colon");

const loginPair = form(
  /^[^:\p{Cc}]{1,128}:\P{Cc}{1,128}$/u,
  "must be name:password, each of at most 128 characters",
).transform((value) => {
  const at = value.indexOf(":");
  return { login: value.slice(0, at), password: value.slice(at + 1) };
});

/** Returns a warning about a login longer than the gateway documents (docs/gateway.md 2.2). */
function longLogin(login: string): string | undefined {
  const { length } = [...login];
  return length > 32
    ? `has ${length} characters, the gateway's description allows 32; right if it was issued so`
    : undefined;
}

/** An https address; http is allowed on this machine only (docs/design.md 4.3). */
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

const anyUrl = text(255).refine(isWebAddress, "must be an http or https address without login");

/** An IP address of at most 15 characters, the limit of the gateway (docs/design.md 12.10). */
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
    // An address with a login or a token is a secret, which the error message must not quote.
    const quoted = holdsCredentials(origin) ? "one with a login" : origin.slice(0, 60);
    context.addIssue({
      code: "custom",
      message: `must list origins (scheme://host:port), but ${quoted} is none`,
    });
  }
  return list;
});

const SECRETS_MAX = 8;

/** A list of secrets; its error message repeats no secret. */
const secrets = text(SECRETS_MAX * 129).transform((value, context) => {
  const list = value.split(" ").filter((secret) => secret !== "");
  if (list.length <= SECRETS_MAX && list.every(({ length }) => length <= 128)) return list;
  const message = `must list at most ${SECRETS_MAX} secrets of at most 128 characters each`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

/** An address over TLS; mqtt and ws are allowed on this machine only (docs/design.md 4.3). */
const brokerUrl = z.string().refine(isBrokerUrl, {
  error:
    "must be mqtts://host, mqtts://host:port or wss://host:port/path without login, ? and #, " +
    "or mqtt:// or ws:// on this machine (localhost, 127.0.0.1, [::1])",
});

function isBrokerUrl(value: string): boolean {
  const isAddress = /^(mqtts?:\/\/[^\s/\\?#@]+\/?|wss?:\/\/[^\s/\\?#@]+(\/[^\s\\?#@]*)?)$/;
  if (!isAddress.test(value) || !URL.canParse(value)) return false;
  const { protocol, hostname, port } = new URL(value);
  if (hostname === "" || port === "0") return false;
  return protocol === "mqtts:" || protocol === "wss:" || isLoopback(hostname);
}

const uploadUrl = text(255).refine(
  (value) => isWebAddress(value) && /^https:[^?#]+\/$/.test(value) && !/\/\.\.?(\/|$)/.test(value),
  { error: "must be an https address without login, ? and #, with a / at its end" },
);

/** The address of a proxy; its login stands in settings of its own, which are never printed. */
const proxyUrl = text(255).refine(
  (value) => isWebAddress(value) && /^\w+:\/\/[^/?#]+\/?$/.test(value),
  "must be http://host:port or https://host:port, without a login (PROXY_USER, PROXY_PASSWORD)",
);

const terminalAndApi = withTexts({
  SERIAL_PORT: marked(serialPort, { requiredBy: ["tp-manager"] }),
  LOCAL_PORT: marked(integer(1, PORT_MAX), { requiredBy: ["tp-manager"] }),
  CONSOLE_PORT: integer(0, PORT_MAX).optional(),
  KIOSK_PORT: integer(0, PORT_MAX).default(0),
  KIOSK_APP: wholePath.optional(),
  TERMINAL_MANAGER_LOGIN: marked(basicLogin, { requiredBy: ["tp-manager"], login: true }),
  TERMINAL_MANAGER_PWD: marked(text(128), { requiredBy: ["tp-manager"], secret: true }),
  OPERATOR_LOGIN: marked(basicLogin.optional(), { login: true }),
  OPERATOR_PWD: marked(text(128).optional(), { secret: true }),
  METRICS_LOGIN: marked(loginPair.optional(), { secret: true, pair: true }),
  SERIAL_BAUD: oneOf(["1200", "9600", "19200", "38400", "57600", "115200"])
    .default("9600")
    .transform(Number),
  SERIAL_STOP_BITS: oneOf(["1", "2"])
    .default("2")
    .transform((bits) => (bits === "1" ? 1 : 2)),
  TERMINAL_SHARED: yesNo.default(false),
  TERMINAL_PASSWORD: marked(form(/^\d{6}$/, "must be six digits").default("000000"), {
    secret: true,
  }),
  TICKET_WIDTH: integer(16, 99).default(40),
  LANGUAGE: oneOf(["en", "de", "fr", "it", "es"]).default("en"),
  CURRENCY: z
    .string()
    .refine((value) => currencyOf(value) !== undefined, { error: "must be an ISO 4217 code" })
    .default("EUR"),
  PAYMENT_TIMEOUT: marked(integer(1, 900).default(180), { floor: 10 }),
  PAYMENT_GRACE: integer(1, 300).default(30),
  REPEAT_MUST_MATCH: oneOf(["amount", "all"]).default("amount"),
  ALLOWED_ORIGINS: origins.default([]),
});

const idOfGateway = form(/^\d{1,11}$/, "must be 1 to 11 digits");

const gateway = withTexts({
  GATEWAY_URL: marked(safeUrl, { requiredBy: ["supervisor"] }),
  GATEWAY_LOGIN: marked(text(255), { requiredBy: ["supervisor"], login: true, warn: longLogin }),
  GATEWAY_PWD: marked(text(32), { requiredBy: ["supervisor"], secret: true }),
  GATEWAY_WEBSITE_ID: marked(idOfGateway, { requiredBy: ["supervisor"] }),
  GATEWAY_CATEGORY_ID: marked(idOfGateway, { requiredBy: ["supervisor"] }),
  GATEWAY_CALLBACK_URL: marked(anyUrl, { requiredBy: ["supervisor"] }),
  GATEWAY_LOCALE: form(/^[a-z]{2}_[A-Z]{2}$/, "must look like en_GB").default("en_GB"),
  GATEWAY_RATING: oneOf(["+12", "+16", "+18", "ALL"]).default("ALL"),
  GATEWAY_CUSTOMER_IP: ipAddress.default("127.0.0.1"),
  GATEWAY_API_KEY: marked(text(128).optional(), { secret: true }),
  GATEWAY_CA_FILE: wholePath.optional(),
  NOTIFICATION_PORT: integer(1, PORT_MAX).optional(),
  NOTIFICATION_HOST: bindAddress.default("127.0.0.1"),
  NOTIFICATION_DIGEST_SECRETS: marked(secrets.default([]), { secret: true, list: true }),
  NOTIFICATION_SECRET: marked(text(128).optional(), { secret: true }),
  GATEWAY_WAIT: integer(0, 60_000).default(5_000),
  GATEWAY_TIMEOUT: integer(1_000, 120_000).default(30_000),
});

const fleetId = form(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, - and _");
const cardNumber = (value: string): string | undefined =>
  containsPan(value) ? "reads like a card number, and every document has it" : undefined;

/** The settings of the telemetry to an MQTT broker (docs/fleet.md 2.1). */
const fleet = withTexts({
  FLEET_URL: brokerUrl.optional(),
  FLEET_MQTT: oneOf(["5", "3.1.1"]).default("5"),
  FLEET_ID: marked(fleetId.optional(), { warn: cardNumber }),
  FLEET_LABELS: labelsText.optional(),
  FLEET_USER: marked(text(255).optional(), { login: true }),
  FLEET_PASSWORD: marked(text(255).optional(), { secret: true }),
  FLEET_CERT_FILE: wholePath.optional(),
  FLEET_KEY_FILE: wholePath.optional(),
  FLEET_CA_FILE: wholePath.optional(),
  FLEET_PAYMENTS: yesNo.default(true),
  FLEET_COMMANDS: yesNo.default(false),
  FLEET_UPLOAD_URL: uploadUrl.optional(),
});

/** The proxy for gateway, fleet and updates (docs/design.md 4.4). */
const proxy = withTexts({
  PROXY_URL: proxyUrl.optional(),
  PROXY_USER: marked(basicLogin.optional(), { login: true }),
  PROXY_PASSWORD: marked(text(255).optional(), { secret: true }),
  NO_PROXY: text(1_024).optional(),
  PROXY_CA_FILE: wholePath.optional(),
});

const daily = withTexts({
  UPDATE_TIME: marked(form(/^([01]\d|2[0-3]):[0-5]\d$/, "must be hh:mm, from 00:00 to 23:59"), {
    requiredBy: ["tp-manager", "supervisor"],
  }),
  UPDATE_URL: safeUrl.optional(),
  UPDATE_CHANNEL: form(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    "must be small letters, digits and hyphens",
  ).default("stable"),
  UPDATE_CA_FILE: wholePath.optional(),
  AUTO_END_OF_DAY: yesNo.default(true),
  LOG_DAYS: integer(1, 3_650).default(30),
  JOURNAL_DAYS: integer(30, 3_650).default(400),
  LOG_LEVEL: oneOf(["debug", "info", "warn", "error"]).default("info"),
});

/** Pairs of settings: the first setting of a pair is invalid without the second. */
const needs = [
  ["FLEET_USER", "FLEET_PASSWORD"],
  ["FLEET_PASSWORD", "FLEET_USER"],
  ["FLEET_CERT_FILE", "FLEET_KEY_FILE"],
  ["FLEET_KEY_FILE", "FLEET_CERT_FILE"],
  ["PROXY_USER", "PROXY_URL"],
  ["PROXY_USER", "PROXY_PASSWORD"],
  ["PROXY_PASSWORD", "PROXY_USER"],
] as const;

/** Returns the faults of settings that are given without another setting that they need. */
export function lackingPairs(isGiven: (name: string) => boolean): readonly ValueFault[] {
  return needs.flatMap(([name, other]) =>
    isGiven(name) && !isGiven(other) ? [{ name, message: `${name} needs ${other} too` }] : [],
  );
}

/** The first sections of the setup file, in their order; the drivers' sections follow. */
export const sharedParts = [
  { title: "Terminal and local API", fields: terminalAndApi },
  { title: "Payment gateway", fields: gateway },
  { title: "Fleet", fields: fleet },
  { title: "Proxy", fields: proxy },
  { title: "Daily life", fields: daily },
] as const satisfies readonly ConfigPart[];

export const sharedFields = {
  ...terminalAndApi,
  ...gateway,
  ...fleet,
  ...proxy,
  ...daily,
} as const;
/**
 * The parsed values of all shared settings. Only the program that requires a setting may rely on
 * its value. The values of a driver's settings are read with `valuesOf`.
 */
export type Config = ValuesOf<typeof sharedFields>;

/** Returns whether the fleet may send requests; never by MQTT 3.1.1 (docs/fleet.md 6.1). */
export function takesRequests({ FLEET_COMMANDS, FLEET_MQTT }: Partial<Config>): boolean {
  return FLEET_COMMANDS === true && FLEET_MQTT !== "3.1.1";
}

type ConsoleSettings = Pick<
  Config,
  "CONSOLE_PORT" | "LOCAL_PORT" | "NOTIFICATION_PORT" | "KIOSK_PORT" | "KIOSK_APP"
>;

/** Returns the port of the operator's console; undefined: no console (docs/console.md 1). */
export function consolePortOf(settings: ConsoleSettings) {
  const { CONSOLE_PORT: given, KIOSK_PORT: kiosk, KIOSK_APP: app } = settings;
  if (given !== undefined) return given === 0 ? undefined : given;
  // The first port after the API's that nothing else uses; KIOSK_APP's pages alone use KIOSK_PORT.
  let port = settings.LOCAL_PORT + 1;
  while (port === settings.NOTIFICATION_PORT || (app && port === kiosk)) port++;
  return port <= PORT_MAX ? port : undefined;
}

/** Returns the settings whose port another one has; a console without a port steps aside. */
export function portClashes(
  settings: Partial<ConsoleSettings & Pick<Config, "NOTIFICATION_HOST">>,
) {
  const { NOTIFICATION_HOST: host = "", KIOSK_APP: app } = settings;
  // Windows lets another socket listen on one address of a port that is open on all addresses.
  const wide = process.platform === "win32" ? [] : ["0.0.0.0", "::"];
  const isShared = ["127.0.0.1", "::1"].concat(wide).includes(host);
  const ports = [
    ["LOCAL_PORT", settings.LOCAL_PORT],
    ["NOTIFICATION_PORT", isShared ? settings.NOTIFICATION_PORT : 0],
    ["CONSOLE_PORT", settings.CONSOLE_PORT],
    ["KIOSK_PORT", app === undefined ? 0 : settings.KIOSK_PORT],
  ] as const;
  return ports.flatMap(([name, port = 0], index) => {
    const [other] = ports.slice(0, index).find(([, one]) => one === port) ?? [];
    return port === 0 || other === undefined ? [] : [{ name, port, other }];
  });
}
