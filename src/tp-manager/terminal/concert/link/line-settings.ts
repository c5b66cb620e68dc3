import type { Config } from "../../../../shared/config/config.ts";
import { form, oneOf, valuesOf } from "../../../../shared/config/config-field.ts";
import type { AlarmLog } from "../../../../shared/process/logger.ts";
import type { Clock } from "../../../../shared/time.ts";
import { commonFields, withTexts } from "../../driver.ts";
import type { Dialogue, Messages } from "../../one-way/dialogue.ts";
import type { Terminal } from "../../terminal.ts";
import type { ByteTransport } from "../../transport/byte-transport.ts";

/** The settings that the drivers of Concert and Caisse-AP have in common. */
export const lineFields = {
  ...withTexts({
    CONCERT_REGISTER: form(/^[0-9A-Z]{2}$/, "must be two digits or capital letters").default("01"),
    CONCERT_LINE: oneOf(["7E1", "8N1"]).optional(),
    CONCERT_PROFILE: oneOf(["standard", "pax-nepting", "ingenico-desk5000"]).default("standard"),
  }),
  ...commonFields,
} as const;

/** Returns a Concert or Caisse-AP terminal at the port or address that the setup file names. */
export async function lineTerminal(
  config: Config,
  clock: Clock,
  log: AlarmLog,
  messages: Messages,
  dialogueOn: (transport: ByteTransport) => Dialogue,
): Promise<Terminal> {
  const { createTransport } = await import("../../transport/open-transport.ts");
  const { OneWayTerminal } = await import("../../one-way/one-way-terminal.ts");
  const dialogue = dialogueOn(createTransport(config.SERIAL_PORT, lineOf(config), clock));
  const { RECOVERY_SILENCE_MS: silenceMs } = valuesOf(lineFields, config);
  const { PAYMENT_TIMEOUT, PAYMENT_GRACE } = config;
  const waitMs = (PAYMENT_TIMEOUT + PAYMENT_GRACE) * 1_000;
  const quietMs = PAYMENT_TIMEOUT * 1_000 + silenceMs;
  return new OneWayTerminal({ messages, dialogue, clock, log, waitMs, quietMs, silenceMs });
}

/** Returns the settings of the serial port (docs/concert.md 2.1); SERIAL_STOP_BITS is ignored. */
function lineOf(config: Config) {
  const { CONCERT_LINE: given, CONCERT_PROFILE: profile } = valuesOf(lineFields, config);
  const { SERIAL_BAUD: baudRate, SERIAL_PORT: address } = config;
  const isUsb = address.startsWith("usb:") || address.startsWith("/dev/ttyACM");
  const line = given ?? (isUsb || profile === "pax-nepting" ? "8N1" : "7E1");
  return line === "7E1"
    ? ({ baudRate, stopBits: 1, dataBits: 7, parity: "even" } as const)
    : ({ baudRate, stopBits: 1, dataBits: 8, parity: "none" } as const);
}
