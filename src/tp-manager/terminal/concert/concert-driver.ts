import { oneOf, valuesOf, yesNo } from "../../../shared/config/config-field.ts";
import { type Driver, withTexts } from "../driver.ts";
import type { ByteTransport } from "../transport/byte-transport.ts";
import { lineFields, lineTerminal } from "./link/line-settings.ts";

const fields = {
  ...withTexts({
    CONCERT_VARIANT: oneOf(["e", "e-plus", "e-ticket"]).default("e-plus"),
    CONCERT_REPORT: yesNo.default(true),
  }),
  ...lineFields,
} as const;

export const concertDriver: Driver = {
  protocol: "concert",
  config: { fields },
  confirmAfterMs: (config) => valuesOf(fields, config).RECOVERY_SILENCE_MS,
  create: async (config, clock, log) => {
    const { SessionLine } = await import("./link/session-line.ts");
    const { concertMessages } = await import("./concert-messages.ts");
    const own = valuesOf(fields, config);
    const messages = concertMessages({
      variant: own.CONCERT_VARIANT,
      register: own.CONCERT_REGISTER,
      report: own.CONCERT_REPORT,
    });
    const dialogueOn = (transport: ByteTransport) => new SessionLine(transport, clock);
    return await lineTerminal(config, clock, log, messages, dialogueOn);
  },
};
