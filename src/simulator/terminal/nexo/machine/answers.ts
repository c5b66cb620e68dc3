import { type BodyName, majorNumber, writePairs } from "../../../../nexo/index.ts";
import { type Currency, formatMajor } from "../../../../shared/money.ts";
import { type CardName, type TestCard, testCards } from "../../bank/cards.ts";
import type { StoredTransaction } from "../../memory/memory.ts";
import type { NexoParts } from "./parts.ts";

/** Returns the member Response of an answer. */
export function responseOf(
  result: "Success" | "Partial" | "Failure",
  condition: string | null,
  pairs: Readonly<Record<string, string>>,
): object {
  return {
    Result: result,
    ...(condition === null ? {} : { ErrorCondition: condition }),
    ...(Object.keys(pairs).length === 0 ? {} : { AdditionalResponse: writePairs(pairs) }),
  };
}

/** What a register asked to pay, with the ids that the answer repeats. */
export interface Sale {
  /** The terminal's name of the payment, which an approval completes. */
  readonly tender: string;
  readonly saleTransaction: object;
  readonly amountMinor: number;
  readonly currency: Currency;
}

const MERCHANT = "SimulatedMerchant";
const RECONCILIATION = "1000";
const BASE = 36;
const ID_CHARACTERS = 14;

/** Returns the reference by which the bank knows a transaction: letters and digits. */
export function bankReference({ trace }: Pick<StoredTransaction, "trace">): string {
  return `S${trace.toString(BASE).toUpperCase().padStart(ID_CHARACTERS, "Z")}`;
}

/** Returns the terminal's name of a payment that begins now. */
export const tenderOf = ({ now }: NexoParts): string => `sim${now.getTime().toString(BASE)}`;

/** Returns the terminal's name of a payment that the bank was asked for (docs/nexo.md 4.2). */
export function transactionId(
  { tender }: Pick<Sale, "tender">,
  transaction: Pick<StoredTransaction, "trace">,
): string {
  return `${tender}.${bankReference(transaction)}`;
}

/** Returns the body of the answer to an approved payment (docs/nexo.md 4.2). */
export function approvedBody(parts: NexoParts, sale: Sale, transaction: StoredTransaction): object {
  const { saleTransaction, currency } = sale;
  const { amountMinor, atMs, card: name, authorisation } = transaction;
  const card = testCards[name];
  const reference = bankReference(transaction);
  const stamp = { TimeStamp: new Date(atMs).toISOString() };
  const id = { TransactionID: transactionId(sale, transaction), ...stamp };
  const isPart = amountMinor < sale.amountMinor;
  const pairs = {
    tid: parts.device.terminalId,
    AID: card.aid,
    pspReference: reference,
    authCode: authorisation,
    cardScheme: brandOf(card),
    cardSummary: card.maskedDigits.slice(-4),
    posAuthAmountCurrency: currency.alpha,
    posAuthAmountValue: String(amountMinor),
    offline: "false",
  };
  return {
    POIData: { POITransactionID: id, POIReconciliationID: RECONCILIATION },
    SaleData: { SaleTransactionID: saleTransaction },
    PaymentReceipt: receipts(card, transaction, currency, reference),
    PaymentResult: {
      OnlineFlag: true,
      PaymentAcquirerData: {
        MerchantID: MERCHANT,
        AcquirerPOIID: parts.poiId,
        ApprovalCode: authorisation,
        AcquirerTransactionID: { TransactionID: reference, ...stamp },
      },
      PaymentInstrumentData: instrument(card),
      AmountsResp: {
        Currency: currency.alpha,
        AuthorizedAmount: majorNumber(amountMinor, currency),
      },
    },
    Response: responseOf(isPart ? "Partial" : "Success", null, pairs),
  };
}

/** Returns the body of the answer to a payment that was not approved: its name has no bank part. */
export function failedBody(
  parts: NexoParts,
  { saleTransaction, tender = tenderOf(parts) }: Partial<Pick<Sale, "saleTransaction" | "tender">>,
  condition: string,
  pairs: Readonly<Record<string, string>>,
  card?: CardName,
): object {
  return {
    POIData: {
      POITransactionID: { TransactionID: tender, TimeStamp: parts.now.toISOString() },
      POIReconciliationID: RECONCILIATION,
    },
    ...(saleTransaction ? { SaleData: { SaleTransactionID: saleTransaction } } : {}),
    ...(card ? { PaymentResult: { PaymentInstrumentData: instrument(testCards[card]) } } : {}),
    Response: responseOf("Failure", condition, pairs),
  };
}

function brandOf({ scheme }: TestCard): string {
  return scheme === "Mastercard" ? "mc" : scheme.toLowerCase();
}

function instrument(card: TestCard): object {
  const { maskedDigits, technology, expiry, sequence } = card;
  return {
    PaymentInstrumentType: "Card",
    CardData: {
      PaymentBrand: brandOf(card),
      MaskedPan: `${maskedDigits.slice(0, 6)} **** ${maskedDigits.slice(-4)}`,
      EntryMode: [technology === "chip" ? "ICC" : "Contactless"],
      SensitiveCardData: {
        CardSeqNumb: sequence.slice(-2),
        ExpiryDate: expiry.slice(2) + expiry.slice(0, 2),
      },
    },
  };
}

/** Returns both receipts; their lines are pairs (docs/nexo.md 10.1). */
function receipts(
  card: TestCard,
  { amountMinor, atMs, authorisation }: StoredTransaction,
  currency: Currency,
  reference: string,
): readonly object[] {
  const at = new Date(atMs);
  const two = (number: number): string => String(number).padStart(2, "0");
  const date = [at.getDate(), at.getMonth() + 1, at.getFullYear() % 100].map(two).join("/");
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  const amount = `${currency.alpha} ${formatMajor(amountMinor, currency.exponent)}`;
  const lines = (title: string): ReadonlyArray<Record<string, string>> => [
    { name: "SIMULATED SHOP", key: "header1" },
    { name: title, key: "merchantTitle" },
    { key: "filler" },
    { name: "Date", value: date, key: "txdate" },
    { name: "Time", value: time, key: "txtime" },
    { name: "Card", value: `************${card.maskedDigits.slice(-4)}`, key: "pan" },
    { name: "Card type", value: card.label, key: "cardType" },
    { name: "AID", value: card.aid, key: "aid" },
    { name: "Auth. code", value: authorisation, key: "authCode" },
    { name: "Tender", value: reference, key: "txRef" },
    { name: "TOTAL", value: amount, key: "totalAmount" },
    { name: "APPROVED", key: "approved" },
  ];
  const made = (qualifier: string, title: string): object => ({
    DocumentQualifier: qualifier,
    RequiredSignatureFlag: false,
    OutputContent: {
      OutputFormat: "Text",
      OutputText: lines(title).map((line) => ({ Text: writePairs(line), EndOfLineFlag: true })),
    },
  });
  return [made("CashierReceipt", "MERCHANT COPY"), made("CustomerReceipt", "CARDHOLDER COPY")];
}

/** The name of the answer's body to a request of a category; undefined: it is not known here. */
export function answerName(category: string): BodyName | undefined {
  return names[category];
}

const names: Readonly<Record<string, BodyName>> = {
  Payment: "PaymentResponse",
  Reversal: "ReversalResponse",
  TransactionStatus: "TransactionStatusResponse",
  Diagnosis: "DiagnosisResponse",
  Login: "LoginResponse",
};
