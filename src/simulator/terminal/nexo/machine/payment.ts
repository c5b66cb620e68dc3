import { type CardName, testCards } from "../../bank/cards.ts";
import { type Outcome, outcomeOf } from "../../bank/ledger.ts";
import type { CardAction, CustomerAction } from "../../cardholder.ts";
import { RunningCommand } from "../../machine.ts";
import type { StoredTransaction } from "../../memory/memory.ts";
import type { PaymentScript } from "../../options.ts";
import type { Stage } from "../../screen.ts";
import { book, type Entered, PIN_TRIES_MAX, pinPad } from "../../terminal-parts.ts";
import type { Point } from "../faults.ts";
import { approvedBody, failedBody, type Sale, transactionId } from "./answers.ts";
import type { NexoParts } from "./parts.ts";
import type { Remembered } from "./requests.ts";

/** Why a payment failed: the error condition, and the texts as recorded (docs/nexo.md 9.1). */
interface Failure {
  readonly condition: string;
  readonly pairs: Readonly<Record<string, string>>;
  readonly stage?: Stage;
}

const failures = {
  aborted: {
    condition: "Aborted",
    pairs: { message: "104 Merchant cancelled" },
    stage: "cancelled",
  },
  cancelled: {
    condition: "Cancel",
    pairs: { message: "108 Shopper cancelled tx" },
    stage: "cancelled",
  },
  "timed-out": {
    condition: "Cancel",
    pairs: { message: "126 Shopper did not present card" },
    stage: "timed-out",
  },
  "out-of-order": { condition: "DeviceOut", pairs: { message: "OUT_OF_ORDER" } },
  currency: { condition: "NotAllowed", pairs: { message: "CURRENCY_NOT_SUPPORTED" } },
  "no-host": { condition: "UnreachableHost", pairs: { message: "HOST_UNREACHABLE" } },
  "host-timeout": {
    condition: "Communication timeout",
    pairs: { message: "Communication timeout" },
    stage: "declined",
  },
} as const satisfies Record<string, Failure>;

type Refusals = Readonly<
  Record<number, readonly [condition: string, message: string, reason: string] | undefined>
>;

/** The endings of an amount, its last three digits, that choose a refusal on a test terminal. */
const endings: Refusals = {
  124: ["Refusal", "NOT_ENOUGH_BALANCE", "210 Not enough balance"],
  125: ["Refusal", "BLOCK_CARD", "199 Card blocked"],
  126: ["Refusal", "CARD_EXPIRED", "228 Card expired"],
  127: ["Refusal", "INVALID_AMOUNT", "214 Declined online"],
  128: ["InvalidCard", "INVALID_CARD", "214 Declined online"],
  134: ["WrongPIN", "INVALID_PIN", "129 Invalid online PIN"],
};
const ENDING = 1_000;
const wrongPin = endings[134];

/** The same refusals by the bank's ISO 8583 response code; the other codes have no own text. */
const refusals: Refusals = {
  14: endings[128],
  51: endings[124],
  54: endings[126],
  55: endings[134],
  62: endings[125],
};

/** Returns the refusal that the amount's ending chooses, or else the bank's code. */
function declined(amountMinor: number, outcome?: Outcome): Failure {
  const code = typeof outcome === "object" ? outcome.decline : 0;
  const [condition, message, refusalReason] = endings[amountMinor % ENDING] ??
    refusals[code] ?? ["Refusal", "DECLINED", "214 Declined online"];
  return { condition, pairs: { message, refusalReason }, stage: "declined" };
}

/** A payment, from its request until its answer is made. */
export class NexoPayment extends RunningCommand<NexoParts, Point> {
  readonly remembered: Remembered;
  readonly sale: Sale;
  #isAborted = false;
  #card: CardName | undefined;

  constructor(parts: NexoParts, remembered: Remembered, sale: Sale, line: string) {
    super(parts, "accepted", { line, label: "payment" });
    this.remembered = remembered;
    this.sale = sale;
  }

  /** Ends the payment unless the bank has approved it already. */
  abort(): void {
    this.#isAborted = true;
    this.parts.customer.act({ action: "cancel" });
  }

  /** Returns the body of the answer. `booked`: called when the card is charged. */
  async carryOut(booked: (body: object) => void): Promise<object> {
    const end = await this.#carriedOut(booked);
    this.parts.notifier.say("TENDER_FINAL", this);
    if (!("condition" in end)) return end;
    if (end.stage) this.parts.screen.show(end.stage);
    return failedBody(this.parts, this.sale, end.condition, end.pairs, this.#card);
  }

  async #carriedOut(booked: (body: object) => void): Promise<object | Failure> {
    const script = this.parts.nextPayment();
    await this.reach("accepted");
    const { outOfOrder, paperOut, options } = this.parts;
    if (outOfOrder || paperOut) return failures["out-of-order"];
    const isKnown = options.behaviour.currencies.includes(`0${this.sale.currency.numeric}`);
    if (!isKnown) return failures.currency;
    const { behaviour, pace } = options;
    const { amountMinor } = this.sale;
    const usual = outcomeOf(script.outcome ?? behaviour.outcome, amountMinor);
    const { numeric: currency } = this.sale.currency;
    this.parts.notifier.say("TENDER_CREATED", this);
    this.parts.screen.show("card", { amountMinor, currency });
    await this.reach("card");
    const wait = { waitMs: pace.cardWaitMs, signal: this.signal, outcome: usual, script };
    const action = this.#isAborted
      ? ({ action: "cancel" } as const)
      : await this.parts.customerAction({ wanted: "card", ...wait });
    const refused = await this.#refusedBefore(action);
    if (refused) return refused;
    this.parts.screen.show("host");
    await this.reach("host");
    await this.pause("host", script.hostMs ?? pace.hostMs);
    if (this.#isAborted) return failures.aborted;
    if (this.parts.fault("no-host")) return failures["no-host"];
    if (this.parts.fault("host-timeout")) return failures["host-timeout"];
    const given = action.action === "insert" ? action.outcome : undefined;
    const outcome = given ? outcomeOf(given, amountMinor) : usual;
    if (outcome !== "approve") return declined(amountMinor, outcome);
    return await this.#charge(script, booked);
  }

  /** Returns why the card or its owner end the payment; undefined: the bank is asked. */
  async #refusedBefore(action: CustomerAction): Promise<Failure | undefined> {
    const cancelled = this.#isAborted ? failures.aborted : failures.cancelled;
    if (action.action === "cancel") return cancelled;
    if (action.action === "time-out") return failures["timed-out"];
    if (action.action !== "insert") return declined(128);
    this.#card = action.card;
    const { technology } = testCards[action.card ?? this.parts.options.behaviour.card];
    this.parts.notifier.say(technology === "chip" ? "CARD_INSERTED" : "CARD_PRESENTED", this);
    const entered = await this.#enteredPin(action);
    if (entered === "cancelled") return this.#isAborted ? failures.aborted : failures.cancelled;
    if (entered === "timed-out") return failures["timed-out"];
    if (entered === "right" || !wrongPin) return undefined;
    const [condition, message, refusalReason] = wrongPin;
    return { condition, pairs: { message, refusalReason }, stage: "declined" };
  }

  async #enteredPin(action: CardAction): Promise<Entered> {
    const pad = pinPad(this.parts, action);
    for (let tries = 1; ; tries++) {
      if (action.pin) this.parts.notifier.say("WAIT_FOR_PIN", this);
      const entered = await pad(this.parts.options.pace.cardWaitMs, this.signal);
      if (action.pin) this.parts.notifier.say("PIN_ENTERED", this);
      if (entered !== "wrong" || tries >= PIN_TRIES_MAX) return entered;
      this.parts.screen.show("wrong-pin");
    }
  }

  /** Charges the card at once: no register can take that back by its silence. */
  async #charge(script: PaymentScript, booked: (body: object) => void): Promise<object | Failure> {
    const { parts, sale } = this;
    const less = Number(parts.fault("partial")?.["by"] ?? 0);
    const more = Number(parts.fault("other-amount")?.["by"] ?? 0);
    const amountMinor = Math.max(sale.amountMinor - less + more, 1);
    const card = this.#card ?? script.card ?? parts.options.behaviour.card;
    this.#card = card;
    const order = { amountMinor, currency: `0${sale.currency.numeric}`, currencyTold: true };
    const transaction = book(
      parts,
      { kind: "payment", order, card, nameOf: (trace) => transactionId(sale, { trace }) },
      { final: true, isStored: true },
    );
    const taken = parts.fault("approved");
    const failure: Failure = { condition: "Cancel", pairs: { message: "APPROVED" } };
    if (taken?.["kept"] === "no") undo(parts, transaction);
    const body = taken
      ? failedBody(parts, sale, failure.condition, failure.pairs, card)
      : approvedBody(parts, sale, transaction);
    booked(body);
    parts.screen.show(taken ? "cancelled" : "approved");
    await this.reach("charged");
    return body;
  }
}

/** Takes a sale back at the bank. Returns false if that was done before. */
export function undo({ ledger, memory }: NexoParts, sale: StoredTransaction): boolean {
  if (sale.state !== "stored" || ledger.remaining(sale.ledgerId) === 0) return false;
  memory.together(() => {
    ledger.takeBack(sale.ledgerId, "asked", { trace: memory.takeTrace() });
    memory.change({ ...sale, state: "reversed" });
  });
  return true;
}
