import { FIXED_AMOUNT_MAX } from "../../../../concert/index.ts";
import type { CardName } from "../../bank/cards.ts";
import { outcomeOf } from "../../bank/ledger.ts";
import type { CardAction } from "../../cardholder.ts";
import type { FaultArguments } from "../../faults/fault-kinds.ts";
import { RunningCommand } from "../../machine.ts";
import type { TransactionKind } from "../../memory/memory.ts";
import type { PaymentScript } from "../../options.ts";
import type { Stage } from "../../screen.ts";
import { book, type Entered, PIN_TRIES_MAX, pinPad, TerminalParts } from "../../terminal-parts.ts";
import type { FaultName, Point } from "../faults.ts";
import { type ConcertOptions, type Report, reports } from "../options.ts";

export class ConcertParts extends TerminalParts<ConcertOptions> {
  fault(name: FaultName): FaultArguments | undefined {
    return this.faults.take(name);
  }

  /** How the next reply shows the card number: masked, in clear, or not at all. */
  get report(): Report {
    const as = this.fault("report")?.["as"];
    return reports.find((one) => one === as) ?? this.options.behaviour.report;
  }

  /** The content of the private field that a fault puts into the reply, as Latin-1 text. */
  get otherPrivate(): string | undefined {
    const given = this.fault("other-private");
    return given && Buffer.from(String(given["hex"]), "hex").toString("latin1");
  }
}

export interface Order {
  readonly action: Action;
  readonly amountMinor: number;
  /** ISO 4217, three digits. */
  readonly currency: string;
}

/** The action that the register orders; `other`: an action that this terminal does not have. */
type Action = "debit" | "credit" | "cancellation" | "other";

/** The actions by the digit that Concert and Caisse-AP send for them (docs/concert.md 3.1, 4.3). */
export const actions: Record<string, Action> = { "0": "debit", "1": "credit", "2": "cancellation" };

type Ended = (Done | { readonly how: Refusal }) & {
  /** A code that a fault reports instead of the true one: a status, or a reason (tag AF). */
  readonly forced?: string | undefined;
};

/** An order and its outcome; the amount is what was charged, or else what was requested. */
export type Ending = Order & Ended;

export interface Done {
  readonly how: "done";
  readonly amountMinor: number;
  readonly card: CardName;
  readonly authorisation: string;
}

export type Refusal =
  | "declined"
  | "cancelled"
  | "timed-out"
  /** The terminal lacks the action, or has no sale that it could take back. */
  | "no-such-action"
  | "no-such-currency"
  | "out-of-order"
  | "message-wrong";

export interface Request {
  /** The order of the message; null: it has no order, and the reply `early` is the answer. */
  readonly order: Order | null;
  /** The reply that is sent before the order is carried out; null: there is no such reply. */
  readonly early: Uint8Array | null;
  readonly repliesAtEnd: boolean;
  reply(ending: Ending): Uint8Array;
}

export interface Dialogue {
  /** Returns the request; undefined: the message is not for this terminal. */
  read(body: Uint8Array): Request | undefined;
  /** Returns the reply of a line without sessions to a request while another request runs. */
  busy?(body: Uint8Array): Uint8Array;
  /** Returns a request for a sale that the terminal begins by itself. */
  ownSale(order: Order, reference: string): Request;
}

/** The stage on the display for each outcome; other outcomes occur before a customer comes. */
const stageOfEnding: Readonly<Partial<Record<Ending["how"], Stage>>> = {
  done: "approved",
  declined: "declined",
  cancelled: "cancelled",
  "timed-out": "timed-out",
};

const kinds = { debit: "payment", credit: "refund" } as const;

/** A register's order, from its acceptance until its outcome is delivered. */
export class Payment extends RunningCommand<ConcertParts, Point> {
  readonly order: Order;

  constructor(parts: ConcertParts, order: Order, line: string) {
    super(parts, "accepted", { line, label: order.action });
    this.order = order;
  }

  /** Asks the customer and the bank, because only they can end a payment (docs/concert.md 2.8). */
  async carryOut(): Promise<Ending> {
    const ended = await this.#carriedOut();
    const stage = stageOfEnding[ended.how];
    if (stage) this.parts.screen.show(stage);
    return { ...this.order, ...ended };
  }

  async #carriedOut(): Promise<Ended> {
    const script = this.parts.nextPayment();
    await this.reach("accepted");
    const { order } = this;
    const { outOfOrder, paperOut } = this.parts;
    if (outOfOrder || paperOut) return { how: "out-of-order" };
    if (order.action === "cancellation") return this.#takeBack();
    if (order.action === "other" || order.amountMinor === 0) return { how: "no-such-action" };
    const currencies = this.parts.options.behaviour.currencies;
    if (!currencies.includes(fourDigits(order.currency))) return { how: "no-such-currency" };
    return await this.#pay(kinds[order.action], script);
  }

  async #pay(kind: TransactionKind, script: PaymentScript): Promise<Ended> {
    const { behaviour, pace } = this.parts.options;
    const usual = outcomeOf(script.outcome ?? behaviour.outcome, this.order.amountMinor);
    this.parts.screen.show("card", this.order);
    await this.reach("card");
    const { signal } = this;
    const wait = { waitMs: pace.cardWaitMs, signal, outcome: usual, script };
    const action = await this.parts.customerAction({ wanted: "card", ...wait });
    if (action.action === "cancel") return { how: "cancelled" };
    if (action.action === "time-out") return { how: "timed-out" };
    const entered = action.action === "insert" ? await this.#enteredPin(action) : "wrong";
    if (entered === "cancelled" || entered === "timed-out") return { how: entered };
    this.parts.screen.show("host");
    await this.reach("host");
    await this.pause("host", script.hostMs ?? pace.hostMs);
    const forced = this.#forcedCode();
    const given = action.action === "insert" ? action.outcome : undefined;
    const outcome = given ? outcomeOf(given, this.order.amountMinor) : usual;
    const refused = entered !== "right" || outcome !== "approve" || forced?.refuses;
    if (action.action !== "insert" || refused) return { how: "declined", forced: forced?.code };
    const done = this.#charge(kind, action.card ?? script.card ?? behaviour.card);
    await this.reach("charged");
    return { ...done, forced: forced?.code };
  }

  /** Returns the result of the last PIN entry; the register learns nothing of earlier ones. */
  async #enteredPin(action: CardAction): Promise<Entered> {
    const pad = pinPad(this.parts, action);
    for (let tries = 1; ; tries++) {
      const entered = await pad(this.parts.options.pace.cardWaitMs, this.signal);
      if (entered !== "wrong" || tries >= PIN_TRIES_MAX) return entered;
      this.parts.screen.show("wrong-pin");
    }
  }

  /** Returns the code that an armed fault reports, and whether this code declines the payment. */
  #forcedCode(): { readonly code: string; readonly refuses: boolean } | undefined {
    const status = this.parts.fault("status");
    if (status) return { code: String(status["as"]), refuses: status["as"] === "7" };
    const reason = this.parts.fault("not-done");
    return reason && { code: String(reason["af"]), refuses: true };
  }

  /** Charges the card at once, even if the register never sends ACK (docs/concert.md 2.4). */
  #charge(kind: TransactionKind, card: CardName): Done {
    const by = Number(this.parts.fault("other-amount")?.["by"] ?? 0);
    const asked = this.order.amountMinor;
    // A charge is never negative, and the changed amount fits into a reply of fixed fields.
    const amountMinor = Math.min(Math.max(asked + by, 1), Math.max(asked, FIXED_AMOUNT_MAX));
    const currency = fourDigits(this.order.currency);
    const order = { amountMinor, currency, currencyTold: true };
    const how = { final: true, isStored: true };
    const { authorisation } = book(this.parts, { kind, order, card }, how);
    return { how: "done", amountMinor, card, authorisation };
  }

  /** Takes back the newest sale of the order's amount that was not taken back yet. */
  #takeBack(): Ended {
    const { ledger, memory } = this.parts;
    const { amountMinor } = this.order;
    const sale = memory.turnover.findLast(
      ({ kind, state, amountMinor: paid }) =>
        kind === "payment" && state === "stored" && paid === amountMinor,
    );
    if (!sale) return { how: "no-such-action" };
    return memory.together(() => {
      ledger.takeBack(sale.ledgerId, "asked", { trace: memory.takeTrace() });
      memory.change({ ...sale, state: "reversed" });
      return { how: "done", amountMinor, card: sale.card, authorisation: sale.authorisation };
    });
  }
}

/** Returns a currency with a leading zero, as the ledger and the switches write it. */
function fourDigits(currency: string): string {
  return currency.padStart(4, "0");
}
