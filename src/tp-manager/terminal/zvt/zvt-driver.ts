import type { Config } from "../../../shared/config/config.ts";
import {
  form,
  integer,
  marked,
  oneOf,
  type ValuesOf,
  valuesOf,
  yesNo,
} from "../../../shared/config/config-field.ts";
import { currencyOf } from "../../../shared/money.ts";
import { commonFields, type Driver, withTexts } from "../driver.ts";
import {
  defaultZvtOptions,
  profiles,
  REGISTER_CONTROLS_PAYMENTS,
  type ZvtOptions,
} from "./zvt-options.ts";

const [firstProfile = "", ...otherProfiles] = Object.keys(profiles);

/** The settings of the ZVT driver; the floors come from docs/zvt.md 5.1 and 9.2. */
const fields = {
  ...withTexts({
    ZVT_CONFIG_BYTE: form(/^[0-9A-Fa-f]{2}$/, "must be two hexadecimal digits").default("BE"),
    ZVT_PROFILE: oneOf([firstProfile, ...otherProfiles]).default("standard"),
    ZVT_CHARSET: oneOf([
      "cp437",
      "iso8859-1",
      "iso8859-2",
      "iso8859-15",
      "utf8",
      "zvt7",
    ]).optional(),
    ZVT_MESSAGE_IDS: oneOf(["auto", "off"]).default("auto"),
    ZVT_SEND_LAST_RECEIPT: yesNo.default(false),
    ZVT_PRINTS_COUNT: yesNo.default(false),
    ZVT_LOG_OFF: yesNo.default(false),
    ZVT_T1_MS: marked(integer(5, 1_000).default(200), { floor: 200 }),
    ZVT_T2_MS: marked(integer(20, 30_000).default(5_000), { floor: 5_000 }),
    ZVT_T3_MS: marked(integer(50, 60_000).default(5_000), { floor: 5_000 }),
    ZVT_T4_MS: marked(integer(500, 900_000).default(180_000), { floor: 60_000 }),
    POLL_INTERVAL_MS: marked(integer(100, 60_000).default(30_000), { floor: 3_000 }),
  }),
  ...commonFields,
} as const;

export const zvtDriver: Driver = {
  protocol: "zvt",
  config: { fields, check: lastReceiptFaults },
  confirmAfterMs: (config) => {
    const { RECOVERY_SILENCE_MS, ZVT_T2_MS, ZVT_T3_MS } = valuesOf(fields, config);
    // The terminal waits 2 T2 + T3 for our answer before it reverses (docs/zvt.md 8.2).
    return Math.max(RECOVERY_SILENCE_MS, 2 * ZVT_T2_MS + ZVT_T3_MS);
  },
  create: async (config, clock, log) => {
    const { createTransport } = await import("../transport/open-transport.ts");
    const { ZvtTerminal } = await import("./zvt-terminal.ts");
    const line = { baudRate: config.SERIAL_BAUD, stopBits: config.SERIAL_STOP_BITS } as const;
    const transport = createTransport(config.SERIAL_PORT, line, clock);
    return new ZvtTerminal(optionsOf(config), { transport, clock, log });
  },
};

/** Refuses settings by which a sale at the terminal's own keys is reversed (docs/zvt.md 9.4). */
function lastReceiptFaults(values: Partial<ValuesOf<typeof fields>>) {
  const configByte = Number.parseInt(String(values.ZVT_CONFIG_BYTE), 16);
  const controlled = (configByte & REGISTER_CONTROLS_PAYMENTS) !== 0;
  if (!values.ZVT_SEND_LAST_RECEIPT || controlled) return [];
  const message =
    "ZVT_SEND_LAST_RECEIPT needs bit 10 in ZVT_CONFIG_BYTE, as in BE: a payment at the " +
    "terminal's own keys would be reversed";
  return [{ name: "ZVT_SEND_LAST_RECEIPT", message }];
}

function optionsOf(config: Config): Partial<ZvtOptions> {
  const zvt = valuesOf(fields, config);
  const { reconnect } = defaultZvtOptions;
  const profile = profiles[zvt.ZVT_PROFILE];
  return {
    ...profile,
    password: config.TERMINAL_PASSWORD,
    configByte: Number.parseInt(zvt.ZVT_CONFIG_BYTE, 16),
    registrationCurrency: `0${currencyOf(config.CURRENCY)?.numeric}`,
    timers: {
      t1Ms: zvt.ZVT_T1_MS,
      t2Ms: zvt.ZVT_T2_MS,
      t3Ms: zvt.ZVT_T3_MS,
      t4Ms: zvt.ZVT_T4_MS,
    },
    pollIntervalMs: Math.min(zvt.POLL_INTERVAL_MS, profile?.pollIntervalMs ?? zvt.POLL_INTERVAL_MS),
    silenceMs: zvt.RECOVERY_SILENCE_MS,
    reconnect: { ...reconnect, minMs: Math.min(reconnect.minMs, zvt.RECOVERY_SILENCE_MS) },
    charset: zvt.ZVT_CHARSET ?? profile?.charset ?? "cp437",
    printerWidth: config.TICKET_WIDTH,
    sendLastReceipt: zvt.ZVT_SEND_LAST_RECEIPT,
    printsCount: zvt.ZVT_PRINTS_COUNT,
    logOffOnClose: zvt.ZVT_LOG_OFF,
    messageIds: zvt.ZVT_MESSAGE_IDS === "auto",
    language: config.LANGUAGE,
  };
}
