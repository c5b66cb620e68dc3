import type { Charset } from "../../../../zvt/index.ts";

/** Bits of the configuration byte (docs/zvt.md 6.1). */
const configBits = {
  registerPrintsPayments: 0x02,
  registerPrintsAdministration: 0x04,
  intermediateStatus: 0x08,
  printMessages: 0x80,
} as const;

/** The terms that a register has agreed on. */
export interface Registration {
  readonly registered: boolean;
  readonly configByte: number;
  /** ISO 4217 numeric with a leading zero; null when the register named none. */
  readonly currency: string | null;
  /** The register may be sent containers (docs/zvt.md 4.3). */
  readonly containers: boolean;
  /** Control fields of tag 26. */
  readonly permitted: ReadonlySet<number>;
  readonly charset: Charset;
  readonly printerWidth: number;
  /** Tag 1F04: which receipts the register wants; null when it did not say. */
  readonly receiptsWanted: number | null;
  /** Largest message the register takes, tag 1A. */
  readonly messageBytesMax: number;
  /** Both sides number their messages, tag 1F73. */
  readonly messageIds: boolean;
}

const PRINTER_COLUMNS = 24;

/** Without a registration a terminal prints by itself and sends no intermediate status. */
export const unregistered: Registration = {
  registered: false,
  configByte: 0x00,
  currency: null,
  containers: false,
  permitted: new Set(),
  charset: "cp437",
  printerWidth: PRINTER_COLUMNS,
  receiptsWanted: null,
  messageBytesMax: 0xffff,
  messageIds: false,
};

/** docs/zvt.md 6.4: Log-Off sets the configuration byte to 86 and switches containers off. */
export const loggedOff: Registration = { ...unregistered, configByte: 0x86 };

export function has(registration: Registration, bit: keyof typeof configBits): boolean {
  return (registration.configByte & configBits[bit]) !== 0;
}
