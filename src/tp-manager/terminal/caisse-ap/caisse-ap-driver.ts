import { z } from "zod";
import { familySettings, lineOf, lineReconnect, sessionTimes } from "../../../concert/index.ts";
import type { Config } from "../../../shared/config/config.ts";
import { described, oneOf, valuesOf } from "../../../shared/config/config-field.ts";
import type { Clock } from "../../../shared/time.ts";
import { commonFields, type Driver } from "../driver.ts";
import type { ByteTransport } from "../transport/byte-transport.ts";
import type { Dialogue } from "../unasked/dialogue.ts";
import type { CaisseApOptions } from "./caisse-ap-messages.ts";

const { CONCERT_REGISTER: register, CONCERT_LINE: line, CONCERT_PROFILE: profile } = familySettings;

/** The driver's names in the setup file. */
const fields = {
  CAISSE_AP_LINK: described(oneOf(["bare", "session"]).default("bare"), {
    help: "Messages bare, one connection for each, or in the sessions of a serial line.",
    example: "session",
  }),
  CAISSE_AP_VERSION: described(oneOf(["0300", "0320"]).default("0300"), {
    help: "Version that requests name.",
    example: "0320",
  }),
  CAISSE_AP_ID: described(
    z
      .string()
      .regex(/^\d{12}$/, "must be twelve digits")
      .default("012345678901"),
    { help: "Identifier of the register's software (CJ), twelve digits.", example: "012345678901" },
  ),
  CAISSE_AP_END: described(oneOf(["none", "crlf"]).default("none"), {
    help: "What follows a bare request: nothing, or a line end.",
    example: "crlf",
  }),
  CAISSE_AP_REFERENCE: described(oneOf(["cf", "ch", "none"]).optional(), {
    help: "Tag that carries the order's reference; cf, and none for the profile ingenico-desk5000.",
    example: "ch",
  }),
  CAISSE_AP_RECEIPT: described(oneOf(["customer", "none"]).default("customer"), {
    help: "Asks for the customer's receipt, which becomes the ticket.",
    example: "none",
  }),
  CONCERT_REGISTER: described(
    z.string().regex(register.form, register.fault).default(register.default),
    { help: register.help, example: register.example },
  ),
  CONCERT_LINE: described(oneOf(line.values).optional(), {
    help: line.help,
    example: line.example,
  }),
  CONCERT_PROFILE: described(oneOf(profile.values).default(profile.default), {
    help: profile.help,
    example: profile.example,
  }),
  ...commonFields,
} as const;

export const caisseApDriver: Driver = {
  protocol: "caisse-ap",
  config: { fields },
  recoverySilenceMs: (config) => valuesOf(fields, config).RECOVERY_SILENCE_MS,
  create: async (config, clock, log) => {
    const { createTransport } = await import("../transport/open-transport.ts");
    const { UnaskedTerminal } = await import("../unasked/unasked-terminal.ts");
    const { caisseApMessages } = await import("./caisse-ap-messages.ts");
    const transport = createTransport(config.SERIAL_PORT, serialLine(config), clock);
    const messages = caisseApMessages(optionsOf(config));
    const dialogue = await dialogueOf(config, transport, clock);
    const { RECOVERY_SILENCE_MS: silenceMs } = valuesOf(fields, config);
    const { PAYMENT_TIMEOUT, PAYMENT_GRACE } = config;
    const waitMs = (PAYMENT_TIMEOUT + PAYMENT_GRACE) * 1_000;
    const quietMs = PAYMENT_TIMEOUT * 1_000 + silenceMs;
    return new UnaskedTerminal({ messages, dialogue, clock, log, waitMs, quietMs, silenceMs });
  },
};

async function dialogueOf(
  config: Config,
  transport: ByteTransport,
  clock: Clock,
): Promise<Dialogue> {
  const { CAISSE_AP_LINK, CAISSE_AP_END } = valuesOf(fields, config);
  if (CAISSE_AP_LINK === "session") {
    const { SessionLine } = await import("../../../concert/link/session-line.ts");
    return new SessionLine({
      transport,
      clock,
      times: sessionTimes,
      reconnect: lineReconnect,
    });
  }
  const { BareLine } = await import("./bare-line.ts");
  const { identification } = await import("./caisse-ap-messages.ts");
  const ending = Buffer.from(CAISSE_AP_END === "crlf" ? "\r\n" : "");
  const ping = identification(optionsOf(config));
  return new BareLine({ transport, clock, identification: ping, ending });
}

function optionsOf(config: Config): CaisseApOptions {
  const own = valuesOf(fields, config);
  const usual = own.CONCERT_PROFILE === "ingenico-desk5000" ? "none" : "cf";
  const reference = own.CAISSE_AP_REFERENCE ?? usual;
  return {
    version: own.CAISSE_AP_VERSION,
    identifier: own.CAISSE_AP_ID,
    register: own.CONCERT_REGISTER,
    reference: reference === "none" ? null : reference === "cf" ? "CF" : "CH",
    receipt: own.CAISSE_AP_RECEIPT === "customer",
  };
}

/** One stop bit, whatever SERIAL_STOP_BITS says (docs/concert.md 2.1). */
function serialLine(config: Config) {
  const { CONCERT_LINE, CONCERT_PROFILE } = valuesOf(fields, config);
  const { SERIAL_BAUD: baudRate, SERIAL_PORT } = config;
  return { baudRate, stopBits: 1, ...lineOf(CONCERT_LINE, CONCERT_PROFILE, SERIAL_PORT) } as const;
}
