import { type Message, tagValue, toHex } from "../../../zvt/index.ts";
import { codeText, resultText } from "../../../zvt/tables/result-codes.ts";
import type { TerminalStatus } from "../terminal.ts";

type Row = readonly [
  code: number,
  cr: TerminalStatus["cr"],
  card: TerminalStatus["card"],
  call: TerminalStatus["call"],
  periph: TerminalStatus["periph"],
  text: string,
];

/** Status codes (docs/zvt.md 11.5) with the digits of a `/check` answer (docs/design.md 5.16). */
const rows: readonly Row[] = [
  [0x00, "0", "0", "0", "0", "ready"],
  [0x51, "2", "0", "1", "0", "initialisation needed"],
  [0x62, "2", "0", "1", "0", "clock not set"],
  [0x64, "0", "0", "0", "0", "the last card was unreadable"],
  [0x65, "2", "0", "1", "0", "OPT action needed"],
  [0x9c, "1", "0", "0", "0", "busy, please wait"],
  [0x9d, "1", "0", "0", "0", "partial issue running"],
  [0xb1, "2", "0", "1", "0", "memory full, end of day needed"],
  [0xb2, "2", "0", "1", "0", "journal full"],
  [0xbf, "2", "0", "0", "3", "power supply too low"],
  [0xc0, "2", "0", "0", "1", "card lock defective"],
  [0xc1, "2", "0", "1", "0", "merchant card locked"],
  [0xc2, "2", "0", "1", "0", "diagnosis needed"],
  [0xc4, "2", "0", "1", "0", "card profile missing, update needed"],
  [0xcc, "2", "0", "0", "2", "printer not ready"],
  [0xdc, "0", "1", "0", "0", "ready, a card is in the reader"],
  [0xdf, "2", "0", "0", "3", "out of order"],
  [0xe0, "2", "0", "0", "3", "remote maintenance needed"],
  [0xe1, "2", "1", "0", "1", "a card was not taken out"],
  [0xe2, "2", "0", "0", "1", "card reader defective"],
  [0xe3, "2", "0", "0", "1", "shutter does not close"],
  [0xe4, "2", "0", "0", "1", "activation needed"],
  [0xf0, "2", "0", "1", "0", "end of day required"],
  [0xf6, "2", "0", "1", "0", "OPT data missing"],
];

const byCode = new Map(rows.map((row) => [row[0], row]));

/** The device states in tag 1F43 (docs/zvt.md 11.2); every state but 00 prevents payments. */
const deviceStates: ReadonlyMap<number, readonly [call: TerminalStatus["call"], text: string]> =
  new Map([
    [1, ["1", "initialisation needed"]],
    [2, ["0", "no keys"]],
    [3, ["0", "tampered with"]],
  ]);

/** Returns the status in the completion of a status enquiry (docs/zvt.md 6.5). */
export function terminalStatus(message: Message): TerminalStatus {
  const base = statusOfCode(message.parts.terminalStatus);
  const details = [base.detail];
  let { cr, call, periph } = base;
  const locks = tagValue(message.tags, "locks");
  // Any set bit prevents payments: sources disagree about the single bits (docs/zvt.md 11.2).
  if (locks?.some((byte) => byte !== 0)) {
    if (cr === "0") cr = "2";
    details.push(`locks ${toHex(locks)}`);
  }
  const device = tagValue(message.tags, "device", "deviceState") ?? 0;
  if (device !== 0) {
    const [deviceCall, text] = deviceStates.get(device) ?? ["0", `device state ${device}`];
    if (cr === "0") cr = "2";
    if (deviceCall === "1") call = "1";
    else if (periph === "0") periph = "3";
    if (!base.detail.endsWith(` ${text}`)) details.push(text); // many terminals send the text twice
  }
  return { cr, card: base.card, call, periph, detail: details.join("; ") };
}

/** Returns the status of a terminal that refuses the status enquiry with a code. */
export function statusOfRefusal(code: number): TerminalStatus {
  const { cr, ...rest } = statusOfCode(code === 0 ? undefined : code);
  return { ...rest, cr: cr === "0" ? "2" : cr };
}

function statusOfCode(code: number | undefined): TerminalStatus {
  if (code === undefined) {
    return { cr: "2", card: "0", call: "0", periph: "0", detail: "no status in the answer" };
  }
  // No sale begins while the terminal reports a code that the table does not list.
  const unknown: Row = [code, "2", "0", "0", "0", resultText(code, "en")];
  const [, cr, card, call, periph, text] = byCode.get(code) ?? unknown;
  return { cr, card, call, periph, detail: `${codeText(code)} ${text}` };
}
