/**
 * All messages (docs/zvt.md 6.1 to 8.4) as data: which parts stand before the numbered fields. To
 * declare a message, add a line with the message's name, the control field, and its positional
 * parts in order, each as a key of {@link partTable}; a part that can be missing has a condition.
 * Numbered fields and the container of tags are not declared. If two messages have the same control
 * field, `answers` names the command before the message, which distinguishes them.
 */

/** The length and the encoding of each positional part, by the part's name. */
export const partTable = {
  password: [3, "secret-digits"],
  oldPassword: [3, "secret-digits"],
  newPassword: [3, "secret-digits"],
  configByte: [1, "number"],
  currency: [2, "digits"],
  receiptFrom: [2, "digits"],
  receiptTo: [2, "digits"],
  timeoutSeconds: [1, "number"],
  timeoutMinutes: [1, "bcd-number"],
  cardId: [2, "digits"],
  mode: [1, "number"],
  language: [1, "number"],
  protocol: [1, "number"],
  baudCode: [1, "number"],
  status: [1, "number"],
  softwareVersion: ["lllvar", "text"],
  terminalStatus: [1, "number"],
  resultCode: [1, "number"],
  attribute: [1, "number"],
  lineFeeds: [1, "number"],
  text: ["rest", "text"],
  /** Bytes that this program does not interpret: the keys that were pressed. */
  data: ["rest", "bytes"],
} as const satisfies Readonly<Record<string, readonly [Part["length"], Part["as"]]>>;

export type PartName = keyof typeof partTable;

export interface Part {
  readonly name: PartName;
  /** The length in bytes; "lllvar": the length stands before the part; "rest": all bytes left. */
  readonly length: number | "lllvar" | "rest";
  readonly as: "number" | "digits" | "secret-digits" | "bcd-number" | "text" | "bytes";
  /** When the part is present; undefined: it is always present. */
  readonly when: Condition | undefined;
}

type Condition =
  /** The part is present if bytes of the message are left. */
  | "if-any"
  /** The part is present if three length digits (F0 to F9) come next (docs/zvt.md 6.5). */
  | "if-length-digits"
  /** The part is the currency after result code 6F, without field number (docs/zvt.md 6.1, 7.4). */
  | "if-wrong-currency"
  /** The part is present if more than a container of tags is left (docs/zvt.md 7.2). */
  | "if-no-container"
  /** The part is a result code without field number, as one vendor sends it (docs/zvt.md 7.1). */
  | "if-bare-result"
  /** The part is a number of line feeds instead of a text, after attribute FF (docs/zvt.md 7.3). */
  | "if-line-feeds"
  | "if-no-line-feeds";

interface MessageShape {
  readonly control: number;
  readonly parts: readonly Part[];
  /** The command to which this completion or answer belongs. */
  readonly answers?: number;
}

type GivenPart = PartName | readonly [PartName, Condition];

function part(given: GivenPart): Part {
  const [name, when] = typeof given === "string" ? [given] : given;
  const [length, as] = partTable[name];
  return { name, length, as, when };
}

function shape(control: number, ...parts: readonly GivenPart[]): MessageShape {
  return { control, parts: parts.map(part) };
}

function answer(control: number, answers: number, ...parts: readonly GivenPart[]): MessageShape {
  return { answers, ...shape(control, ...parts) };
}

const result: readonly GivenPart[] = [
  ["resultCode", "if-any"],
  ["currency", "if-wrong-currency"],
];

export const messages = {
  // Commands of the register (docs/zvt.md 6.1 to 6.8)
  registration: shape(0x0600, "password", "configByte", ["currency", "if-any"]),
  authorisation: shape(0x0601),
  "log-off": shape(0x0602),
  "account-balance": shape(0x0603),
  "activate-card": shape(0x0604),
  procurement: shape(0x0605),
  "prepaid-top-up": shape(0x0609, "cardId", "mode"),
  "book-tip": shape(0x060c),
  "turnover-totals": shape(0x0610, "password"),
  "print-turnover-receipts": shape(0x0612, "password", "receiptFrom", ["receiptTo", "if-any"]),
  "reset-terminal": shape(0x0618),
  "print-system-configuration": shape(0x061a),
  "set-terminal-id": shape(0x061b, "password"),
  "repeat-receipt": shape(0x0620, "password"),
  "telephonic-authorisation": shape(0x0621, "password"),
  "pre-authorisation": shape(0x0622),
  "partial-reversal": shape(0x0623),
  "book-total": shape(0x0624),
  "pre-authorisation-reversal": shape(0x0625),
  "external-reversal": shape(0x0626),
  reversal: shape(0x0630, "password"),
  refund: shape(0x0631, "password"),
  "end-of-day": shape(0x0650, "password"),
  "send-offline-transactions": shape(0x0651, "password"),
  diagnosis: shape(0x0670),
  selftest: shape(0x0679),
  "set-date-time": shape(0x0691, "password"),
  initialisation: shape(0x0693, "password"),
  "change-password": shape(0x0695, "oldPassword", "newPassword"),
  abort: shape(0x06b0),
  "read-card": shape(0x06c0, ["timeoutSeconds", "if-any"]),
  "close-session": shape(0x06c5),
  "send-apdus": shape(0x06c6),
  "display-text": shape(0x06e0),
  "display-text-input": shape(0x06e1),
  "display-text-numeric": shape(0x06e2),
  "pin-check": shape(0x06e3),
  "card-poll": shape(0x06e6),
  "dukpt-entry": shape(0x06e7),
  "status-enquiry": shape(0x0501, ["password", "if-any"]),
  "service-mode": shape(0x0801, ["password", "if-any"]),
  "switch-protocol": shape(0x0802, "protocol"),
  "software-update": shape(0x0810),
  "read-file": shape(0x0811),
  "delete-file": shape(0x0812),
  "change-configuration": shape(0x0813),
  "write-file": shape(0x0814, "password"),
  "select-language": shape(0x0830, "language"),
  "change-baud-rate": shape(0x0840, "baudCode"),
  "activate-reader": shape(0x0850),
  // Messages of the terminal (docs/zvt.md 7.4)
  "set-register-time": shape(0x0401),
  "file-request": shape(0x040c),
  "input-request": shape(0x040d),
  "menu-request": shape(0x040e),
  "status-information": shape(0x040f, ["resultCode", "if-bare-result"]),
  "intermediate-status": shape(0x04ff, "status", ["timeoutMinutes", "if-no-container"]),
  completion: shape(0x060f),
  "status-completion": answer(
    0x060f,
    0x0501,
    ["softwareVersion", "if-length-digits"],
    "terminalStatus",
  ),
  "abort-from-pt": shape(0x061e, ...result),
  "menu-with-image": shape(0x06d0),
  "print-line": shape(
    0x06d1,
    "attribute",
    ["lineFeeds", "if-line-feeds"],
    ["text", "if-no-line-feeds"],
  ),
  "print-text-block": shape(0x06d3),
  "blocked-list-query": shape(0x06e4),
  // Answers to messages (docs/zvt.md 4.1, 6.8, 8.1)
  "positive-acknowledgement": shape(0x8000),
  "key-answer": answer(0x8000, 0x06e1, "data"),
  "numeric-answer": answer(0x8000, 0x06e2, "data"),
  "pin-answer": answer(0x8000, 0x06e3, "data"),
  /** All 84 xx except 84 00 and 84 1E, where xx is the error code. */
  "negative-acknowledgement": shape(0x8400),
  "currency-refused": shape(0x841e, ...result),
} as const satisfies Record<string, MessageShape>;

export type MessageName = keyof typeof messages;

interface NamedShape extends MessageShape {
  readonly name: MessageName;
}

const shapes = new Map<string, NamedShape>(
  Object.entries<MessageShape>(messages).map(([name, entry]) => [
    `${entry.control}/${entry.answers ?? ""}`,
    { ...entry, name: name as MessageName },
  ]),
);

/** Returns name and parts of a message; undefined: its control field is not in the table. */
export function shapeOf(control: number, answering?: number): NamedShape | undefined {
  if (control === 0x8400) return shapes.get(`${0x8000}/`); // docs/zvt.md 4.1: 84 00 is positive too
  const shape = shapes.get(`${control}/${answering}`) ?? shapes.get(`${control}/`);
  return shape ?? (control >> 8 === 0x84 ? shapes.get(`${0x8400}/`) : undefined);
}
