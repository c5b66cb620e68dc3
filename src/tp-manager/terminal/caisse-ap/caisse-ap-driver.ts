import type { Config } from "../../../shared/config/config.ts";
import { form, oneOf, valuesOf } from "../../../shared/config/config-field.ts";
import { lineFields, lineTerminal } from "../concert/link/line-settings.ts";
import { type Driver, withTexts } from "../driver.ts";
import type { CaisseApOptions } from "./caisse-ap-messages.ts";

const fields = {
  ...withTexts({
    CAISSE_AP_LINK: oneOf(["bare", "session"]).default("bare"),
    CAISSE_AP_VERSION: oneOf(["0300", "0320"]).default("0300"),
    CAISSE_AP_ID: form(/^\d{12}$/, "must be twelve digits").default("012345678901"),
    CAISSE_AP_END: oneOf(["none", "crlf"]).default("none"),
    CAISSE_AP_REFERENCE: oneOf(["cf", "ch", "none"]).optional(),
    CAISSE_AP_RECEIPT: oneOf(["customer", "none"]).default("customer"),
  }),
  ...lineFields,
} as const;

export const caisseApDriver: Driver = {
  protocol: "caisse-ap",
  config: { fields },
  confirmAfterMs: (config) => valuesOf(fields, config).RECOVERY_SILENCE_MS,
  create: async (config, clock, log) => {
    const { BareLine } = await import("./bare-line.ts");
    const { SessionLine } = await import("../concert/link/session-line.ts");
    const { caisseApMessages, identification } = await import("./caisse-ap-messages.ts");
    const { CAISSE_AP_LINK, CAISSE_AP_END } = valuesOf(fields, config);
    const options = optionsOf(config);
    const ending = Buffer.from(CAISSE_AP_END === "crlf" ? "\r\n" : "");
    return await lineTerminal(config, clock, log, caisseApMessages(options), (transport) =>
      CAISSE_AP_LINK === "session"
        ? new SessionLine(transport, clock)
        : new BareLine(transport, clock, identification(options), ending),
    );
  },
};

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
