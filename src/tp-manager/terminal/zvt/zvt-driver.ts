import { z } from "zod";
import type { Config } from "../../../shared/config/config.ts";
import {
  described,
  integer,
  oneOf,
  type ValuesOf,
  valuesOf,
  yesNo,
} from "../../../shared/config/config-field.ts";
import { currencyOf } from "../../../shared/money.ts";
import { commonFields, type Driver } from "../driver.ts";
import {
  defaultZvtOptions,
  profiles,
  REGISTER_CONTROLS_PAYMENTS,
  type ZvtOptions,
} from "./zvt-options.ts";

const [firstProfile = "", ...otherProfiles] = Object.keys(profiles);

/** The driver's names in the setup file; floors are those of docs/zvt.md 5.1 and 9.2. */
const fields = {
  ZVT_CONFIG_BYTE: described(
    z
      .string()
      .regex(/^[0-9A-Fa-f]{2}$/, "must be two hexadecimal digits")
      .default("BE"),
    {
      help: "Configuration byte of the registration: BE prints line by line, 3E from the result.",
      example: "3E",
    },
  ),
  ZVT_PROFILE: described(oneOf([firstProfile, ...otherProfiles]).default("standard"), {
    help: "Terminal or provider whose peculiarities are to be followed.",
    example: "ccv",
  }),
  ZVT_CHARSET: described(
    oneOf(["cp437", "iso8859-1", "iso8859-2", "iso8859-15", "utf8", "zvt7"]).optional(),
    {
      help: "Character set of a terminal that does not name one; else that of ZVT_PROFILE, cp437.",
      example: "iso8859-1",
    },
  ),
  ZVT_MESSAGE_IDS: described(oneOf(["auto", "off"]).default("auto"), {
    help: "Numbered messages (1F73): auto uses them when the terminal agrees to it.",
    example: "off",
  }),
  ZVT_SEND_LAST_RECEIPT: described(yesNo.default(false), {
    help: "Names the last known receipt (1F1F): the terminal reverses a payment that we missed.",
    example: "yes",
  }),
  ZVT_PRINTS_COUNT: described(yesNo.default(false), {
    help: "The terminal keeps a sale only after its print was acknowledged; else it reverses it.",
    example: "yes",
  }),
  ZVT_LOG_OFF: described(yesNo.default(false), {
    help: "Log-Off at every stop: gives the terminal's own keys back until the next start.",
    example: "yes",
  }),
  ZVT_T1_MS: described(integer(5, 1_000).default(200), {
    help: "Longest silence between two bytes of a serial frame (PA00P016).",
    example: "200",
    floor: 200,
  }),
  ZVT_T2_MS: described(integer(20, 30_000).default(5_000), {
    help: "Longest wait for the line acknowledgement of a serial frame.",
    example: "5000",
    floor: 5_000,
  }),
  ZVT_T3_MS: described(integer(50, 60_000).default(5_000), {
    help: "Longest wait for the answer to a command.",
    example: "8000",
    floor: 5_000,
  }),
  ZVT_T4_MS: described(integer(500, 900_000).default(180_000), {
    help: "Longest silence of the terminal while it carries out a command.",
    example: "180000",
    floor: 60_000,
  }),
  POLL_INTERVAL_MS: described(integer(100, 60_000).default(30_000), {
    help: "How often an idle terminal is asked for its status.",
    example: "3000",
    floor: 3_000,
  }),
  ...commonFields,
} as const;

export const zvtDriver: Driver = {
  protocol: "zvt",
  config: { fields, check: lastReceiptFaults },
  recoverySilenceMs: (config) => {
    const { RECOVERY_SILENCE_MS, ZVT_T2_MS, ZVT_T3_MS } = valuesOf(fields, config);
    // docs/zvt.md 8.2: commands/authorisation.ts asks the terminal to wait for this long.
    return Math.max(RECOVERY_SILENCE_MS, 2 * ZVT_T2_MS + ZVT_T3_MS);
  },
  create: async (config, clock, log) => {
    const { createTransport } = await import("../transport/open-transport.ts");
    const { createZvtTerminal } = await import("./zvt-terminal.ts");
    const line = { baudRate: config.SERIAL_BAUD, stopBits: config.SERIAL_STOP_BITS } as const;
    const transport = createTransport(config.SERIAL_PORT, line, clock);
    return createZvtTerminal({ transport, clock, log, options: optionsOf(config) });
  },
};

/** docs/zvt.md 6.1, 9.4: what was paid at the terminal's own keys would be taken for missed. */
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
    restartPauseMs: zvt.RECOVERY_SILENCE_MS,
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
