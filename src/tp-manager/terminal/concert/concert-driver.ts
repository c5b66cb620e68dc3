import { z } from "zod";
import { familySettings, lineOf, lineReconnect, sessionTimes } from "../../../concert/index.ts";
import type { Config } from "../../../shared/config/config.ts";
import { described, oneOf, valuesOf, yesNo } from "../../../shared/config/config-field.ts";
import { commonFields, type Driver } from "../driver.ts";

const { CONCERT_REGISTER: register, CONCERT_LINE: line, CONCERT_PROFILE: profile } = familySettings;

/** The driver's names in the setup file. */
const fields = {
  CONCERT_VARIANT: described(oneOf(["e", "e-plus", "e-ticket"]).default("e-plus"), {
    help: "Form of the request: e, e-plus with two options, e-ticket with a receipt asked for.",
    example: "e",
  }),
  CONCERT_REPORT: described(yesNo.default(true), {
    help: "Asks for the report with the masked card number.",
    example: "no",
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

export const concertDriver: Driver = {
  protocol: "concert",
  config: { fields },
  recoverySilenceMs: (config) => valuesOf(fields, config).RECOVERY_SILENCE_MS,
  create: async (config, clock, log) => {
    const { createTransport } = await import("../transport/open-transport.ts");
    const { SessionLine } = await import("../../../concert/link/session-line.ts");
    const { UnaskedTerminal } = await import("../unasked/unasked-terminal.ts");
    const { concertMessages } = await import("./concert-messages.ts");
    const own = valuesOf(fields, config);
    const messages = concertMessages({
      variant: own.CONCERT_VARIANT,
      register: own.CONCERT_REGISTER,
      report: own.CONCERT_REPORT,
    });
    const transport = createTransport(config.SERIAL_PORT, serialLine(config), clock);
    const dialogue = new SessionLine({
      transport,
      clock,
      times: sessionTimes,
      reconnect: lineReconnect,
    });
    const silenceMs = own.RECOVERY_SILENCE_MS;
    return new UnaskedTerminal({ messages, dialogue, clock, log, ...limitsOf(config, silenceMs) });
  },
};

/** One stop bit, whatever SERIAL_STOP_BITS says (docs/concert.md 2.1). */
function serialLine(config: Config) {
  const { CONCERT_LINE, CONCERT_PROFILE } = valuesOf(fields, config);
  const { SERIAL_BAUD: baudRate, SERIAL_PORT } = config;
  return { baudRate, stopBits: 1, ...lineOf(CONCERT_LINE, CONCERT_PROFILE, SERIAL_PORT) } as const;
}

function limitsOf({ PAYMENT_TIMEOUT, PAYMENT_GRACE }: Config, silenceMs: number) {
  return {
    waitMs: (PAYMENT_TIMEOUT + PAYMENT_GRACE) * 1_000,
    quietMs: PAYMENT_TIMEOUT * 1_000 + silenceMs,
    silenceMs,
  };
}
