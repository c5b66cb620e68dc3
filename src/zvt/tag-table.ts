/**
 * The tags of docs/zvt.md 11.2 as data. Bit 6 of a tag's first byte says that the tag contains
 * further tags (docs/zvt.md 4.3); `container` says so here, and a test compares the two. `opaque`
 * marks tags with the bit set that contain plain content all the same (Feig, docs/zvt.md 12.5).
 */
type TagEncoding =
  | "number"
  | "digits"
  | "text"
  | "bytes"
  /** Card data; only the number of its bytes is decoded. */
  | "secret"
  | "container"
  | "opaque";

export const tags = {
  textLine: [0x07, "text"],
  receiptNumber: [0x08, "digits"],
  attribute: [0x09, "number"],
  command: [0x0a, "bytes"],
  infoText: [0x0b, "text"],
  infoText2: [0x0c, "text"],
  assignment: [0x0f, "bytes"],
  merchantDisplay: [0x10, "bytes"],
  customerDisplay: [0x11, "bytes"],
  printerWidth: [0x12, "digits"],
  extraResultCode: [0x13, "text"],
  charset: [0x14, "number"],
  language: [0x15, "text"],
  menuType: [0x16, "number"],
  menuContext: [0x17, "number"],
  menuTarget: [0x18, "number"],
  menuReturn: [0x19, "number"],
  maxApdu: [0x1a, "number"],
  diagnosisType: [0x1b, "number"],
  fileBlock: [0x1c, "bytes"],
  fileId: [0x1d, "number"],
  fileOffset: [0x1e, "number"],
  fleetCard: [0x20, "container"],
  permittedGoods: [0x21, "container"],
  prohibitedGoods: [0x22, "container"],
  openPreAuthorisations: [0x23, "container"],
  displayTexts: [0x24, "container"],
  printTexts: [0x25, "container"],
  permittedCommands: [0x26, "container"],
  charsets: [0x27, "container"],
  languages: [0x28, "container"],
  menusDisplayed: [0x29, "container"],
  menusNotDisplayed: [0x2a, "container"],
  menu: [0x2b, "container"],
  menuItem: [0x2c, "container"],
  file: [0x2d, "container"],
  timeStamp: [0x2e, "container"],
  payment: [0x2f, "container"],
  cardListEntry: [0x30, "container"],
  amountInformation: [0x31, "container"],
  input: [0x32, "container"],
  terminalClock: [0x34, "container"],
  nextRestart: [0x35, "container"],
  emvBits: [0x40, "bytes"],
  cardType: [0x41, "number"],
  applicationLabel: [0x42, "text"],
  aid: [0x43, "bytes"],
  preferredName: [0x44, "text"],
  receiptsDue: [0x45, "digits"],
  emvPrintCustomer: [0x46, "text"],
  emvPrintMerchant: [0x47, "text"],
  priority: [0x48, "number"],
  operatorCardType: [0x49, "number"],
  productDisplay: [0x4a, "text"],
  issuerCountry: [0x4b, "text"],
  uid: [0x4c, "secret"],
  efId: [0x4d, "secret"],
  application: [0x60, "container"],
  stripeList: [0x61, "container"],
  chipList: [0x62, "container"],
  receiptHeader: [0x64, "container"],
  receiptAdvert: [0x65, "container"],
  customerData: [0x66, "container"],
  merchantData: [0x67, "container"],
  outcomeText: [0x68, "container"],
  referenceTransaction: [0x69, "container"],
  invalidList: [0x6a, "container"],
  prepaid0: [0x80, "secret"],
  prepaid1: [0x81, "secret"],
  prepaid2: [0x82, "secret"],
  prepaid3: [0x83, "secret"],
  prepaid4: [0x84, "secret"],
  prepaid5: [0x85, "secret"],
  bonus: [0xe1, "container"],
  dcc: [0xe2, "container"],
  barcode: [0xe3, "container"],
  device: [0xe4, "container"],
  key: [0xe5, "container"],
  card: [0xe6, "container"],
  sam: [0xe7, "container"],
  valueAdded: [0xe8, "container"],
  reference: [0xe9, "container"],
  membership: [0xea, "container"],
  fileLength: [0x1f00, "number"],
  receiptSelection: [0x1f01, "number"],
  transactionFrom: [0x1f02, "digits"],
  transactionTo: [0x1f03, "digits"],
  receiptsWanted: [0x1f04, "bytes"],
  transactionControl: [0x1f05, "bytes"],
  reservationKind: [0x1f06, "number"],
  receiptType: [0x1f07, "number"],
  track1: [0x1f08, "secret"],
  track2: [0x1f09, "secret"],
  track3: [0x1f0a, "secret"],
  cardRecord: [0x1f0b, "secret"],
  date: [0x1f0e, "digits"],
  time: [0x1f0f, "digits"],
  cardholderIdentification: [0x1f10, "number"],
  onlineFlag: [0x1f11, "number"],
  technology: [0x1f12, "number"],
  askedFor: [0x1f13, "number"],
  cardId: [0x1f14, "secret"],
  readingControl: [0x1f15, "bytes"],
  vendorErrorCode: [0x1f16, "bytes"],
  vendorErrorText: [0x1f17, "text"],
  displayKey: [0x1f18, "number"],
  listKind: [0x1f19, "bytes"],
  listBehaviour: [0x1f1a, "bytes"],
  lastReceiptNumber: [0x1f1f, "digits"],
  inputMinLength: [0x1f1e, "bytes"],
  inputKind: [0x1f21, "bytes"],
  cashback: [0x1f25, "digits"],
  longTrace: [0x1f2b, "digits"],
  tip: [0x1f36, "digits"],
  receiptInformation: [0x1f37, "number"],
  inputHeader: [0x1f38, "bytes"],
  inputLength: [0x1f39, "bytes"],
  inputText: [0x1f3a, "secret"],
  tipAllowed: [0x1f3b, "number"],
  deviceName: [0x1f40, "text"],
  deviceVersion: [0x1f41, "text"],
  deviceSerial: [0x1f42, "digits"],
  deviceState: [0x1f43, "number"],
  terminalId: [0x1f44, "digits"],
  ats: [0x1f45, "secret"],
  cardApdus: [0x1f46, "secret"],
  readError: [0x1f47, "bytes"],
  cardCommand: [0x1f48, "secret"],
  cardAnswer: [0x1f49, "secret"],
  cardSession: [0x1f4a, "secret"],
  cardInformation: [0x1f4b, "secret"],
  cardKind: [0x1f4c, "number"],
  cardSubKind: [0x1f4d, "bytes"],
  keyGeneration: [0x1f54, "bytes"],
  locks: [0x1f55, "bytes"],
  applications: [0x1f59, "bytes"],
  cardWaitSeconds: [0x1f5b, "number"],
  technologiesAllowed: [0x1f60, "number"],
  referenceKind: [0x1f62, "text"],
  referenceText: [0x1f63, "text"],
  cardPollControl: [0x1f6b, "bytes"],
  cardPollWanted: [0x1f6d, "bytes"],
  knownTags: [0x1f71, "bytes"],
  enquiryOptions: [0x1f72, "bytes"],
  messageSequence: [0x1f73, "digits"],
  enquiryOptions2: [0x1f76, "bytes"],
  enquiryOptions3: [0x1f78, "bytes"],
  restartRequest: [0x1f79, "bytes"],
  fileName: [0x1f80, "text"],
  fileMime: [0x1f81, "text"],
  fileName3: [0x1f8000, "text"],
  fileMime3: [0x1f8001, "text"],
  valueAdded1: [0xff01, "container"],
  valueAdded2: [0xff02, "container"],
  valueAdded3: [0xff03, "container"],
  valueAdded4: [0xff04, "container"],
  feigOpaque1: [0xff40, "opaque"],
  feigOpaque2: [0xff41, "opaque"],
} as const satisfies Record<string, readonly [number, TagEncoding]>;

export type TagName = keyof typeof tags;

export interface NamedTag {
  readonly name: TagName;
  readonly number: number;
  readonly as: TagEncoding;
}

export const tagTable: readonly NamedTag[] = Object.entries(tags).map(([name, [number, as]]) => ({
  name: name as TagName,
  number,
  as,
}));
const byNumber = new Map(tagTable.map((entry) => [entry.number, entry]));

export function tagOfNumber(number: number): NamedTag | undefined {
  return byNumber.get(number);
}

export function tagOfName(name: TagName): NamedTag {
  const [number, as] = tags[name];
  return { name, number, as };
}

/** Returns bit 6 of the first byte of a tag (docs/zvt.md 4.3). */
export function hasConstructedBit(number: number): boolean {
  let first = number;
  while (first > 0xff) first = Math.floor(first / 256);
  return (first & 0x20) !== 0;
}
