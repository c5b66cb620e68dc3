import { container, encodeText, fromHex, type RawTag, tag } from "../../../../zvt/index.ts";
import type { Device } from "../../options.ts";
import { askNames } from "../asks/ask-list.ts";
import { askRegister } from "../asks/asks.ts";
import { demandTable, mostUrgent } from "../demands.ts";
import { localTime } from "../machine/local-time.ts";
import type { Parts } from "../machine/parts.ts";
import { opaqueTags } from "../machine/report.ts";
import { commandWhenLocked } from "./command.ts";

/** Service byte of the enquiry (docs/zvt.md 6.5). */
const WITHOUT_VERSION = 0x02;
const WITH_CONTAINER = 0x04;

/** Status-Enquiry 05 01 (docs/zvt.md 6.5). */
export const statusEnquiry = commandWhenLocked(0x0501, async (process) => {
  const { parts, request } = process;
  const service = request.fields.serviceByte ?? 0;
  const softwareVersion = parts.device.version;
  await process.accept();
  // Its own jobs begin on this occasion (docs/zvt.md 6.5); an answer changes nothing here.
  await askRegister(process, "status", askNames);
  await process.completeStatus({
    parts: {
      ...((service & WITHOUT_VERSION) === 0 ? { softwareVersion } : {}),
      terminalStatus: terminalStatus(parts),
    },
    ...((service & WITH_CONTAINER) !== 0 ? { tags: identityTags(parts) } : {}),
  });
});

/** docs/zvt.md 11.5. */
function terminalStatus({ memory, outOfOrder, paperOut, cardInside }: Parts): number {
  if (outOfOrder) return 0xdf;
  if (paperOut) return 0xcc;
  const demand = mostUrgent(memory);
  if (demand) return demandTable[demand].status;
  return cardInside ? 0xdc : 0x00;
}

function identityTags(parts: Parts): readonly RawTag[] {
  const { device } = parts;
  const restart = parts.nextRestart;
  return [
    tag("terminalId", device.terminalId),
    container("device", [
      tag("deviceName", encodeText(device.name, "cp437")),
      tag("deviceVersion", encodeText(device.version, "cp437")),
      tag("deviceSerial", parts.is("binary-serial") ? binary(device) : device.serialNumber),
      tag("deviceState", parts.memory.demands.includes("initialisation") ? 0x01 : 0x00),
    ]),
    ...(parts.is("opaque-tags") ? opaqueTags : []),
    ...locks(parts),
    container("terminalClock", moment(parts.now)),
    ...(restart ? [container("nextRestart", moment(restart))] : []),
  ];
}

/** Seen on Feig: not two digits a byte (docs/zvt.md 11.2). */
function binary({ serialNumber }: Device): Uint8Array {
  const hex = BigInt(serialNumber).toString(16);
  return fromHex(hex.padStart(8 + (hex.length > 8 ? hex.length % 2 : 0), "0"));
}

/** Tag 1F55, from bit 7: end of day, initialisation, diagnosis, service, out of order. */
function locks({ memory, outOfOrder }: Parts): readonly RawTag[] {
  const first =
    (memory.demands.some((due) => due === "end-of-day" || due === "storage-full") ? 0x80 : 0) +
    (memory.demands.some((due) => due === "initialisation" || due === "configuration") ? 0x40 : 0) +
    (memory.demands.includes("diagnosis") ? 0x20 : 0) +
    (outOfOrder ? 0x08 : 0);
  return first === 0 ? [] : [tag("locks", Uint8Array.of(first, 0))];
}

function moment(at: Date): readonly RawTag[] {
  const { date, time } = localTime(at);
  return [tag("date", date), tag("time", time)];
}
