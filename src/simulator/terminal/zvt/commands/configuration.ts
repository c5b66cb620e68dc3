import type { Parts } from "../machine/parts.ts";
import { plain, type ReceiptLine, spread } from "../machine/receipt-text.ts";
import { printAdministration } from "./administration.ts";
import type { Command } from "./command.ts";

/** The lines that 06 1A prints and the service menu shows. */
export function configurationLines(parts: Parts): readonly ReceiptLine[] {
  const { device, options, registration } = parts;
  const { serial, lineSpeed, behaviour, timers } = options;
  const pair = (left: string, right: string) =>
    plain(spread(left, right, registration.printerWidth));
  return [
    pair("Device:", device.name),
    pair("Serial:", device.serialNumber),
    pair("Version:", device.version),
    pair("Contract:", device.contractNumber),
    pair("Currencies:", behaviour.currencies.join(" ")),
    pair("Line:", `${lineSpeed ?? serial?.baudRate ?? 9_600} 8N${serial?.stopBits ?? 2}`),
    pair("T3/T4:", `${timers.t3Ms / 1_000} s/${timers.t4Ms / 1_000} s`),
    pair("Receipt number:", String(parts.memory.nextReceiptNumber)),
    pair("Files:", String(parts.files.size)),
  ];
}

/** Print system configuration 06 1A (docs/zvt.md 6.4). */
export const printConfiguration: Command = {
  control: 0x061a,
  async run(process) {
    await process.accept();
    await printAdministration(process, "CONFIGURATION", configurationLines(process.parts));
    await process.complete();
  },
};
