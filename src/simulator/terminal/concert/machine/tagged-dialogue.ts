import { encodeTagged, readTagged, type Tagged } from "../../../../concert/index.ts";
import { testCards } from "../../bank/cards.ts";
import {
  actions,
  type ConcertParts,
  type Dialogue,
  type Done,
  type Ending,
  type Order,
  type Refusal,
  type Request,
} from "./payment.ts";
import { applicationOf, printedPan, receiptTags } from "./receipt.ts";

const IDENTIFICATION = "I";

/** The values of tag AE, the result of an action (docs/concert.md 4.4). */
const state = { done: "10", notDone: "01", taken: "11" } as const;
const reasonOf: Readonly<Record<Refusal, string>> = {
  declined: "04",
  cancelled: "06",
  "timed-out": "08",
  "no-such-action": "12",
  "no-such-currency": "13",
  "out-of-order": "10",
  "message-wrong": "09",
};
const BUSY = "10";

const alwaysAsked = ["CZ", "CJ", "CA", "CD"];
const askedInPayment = ["CB", "CE"];
const AT_ONCE = "1";

type Asked = ReadonlyMap<string, string>;

/** Whether a message has all tags that its action needs (docs/concert.md 4.2). */
export function saysAll(asked: Asked): boolean {
  const needed = asked.get("CD") === IDENTIFICATION ? [] : askedInPayment;
  return [...alwaysAsked, ...needed].every((tag) => asked.has(tag));
}

/** The requests and replies of Caisse-AP, which consist of tags (docs/concert.md 4.1). */
export class TaggedDialogue implements Dialogue {
  readonly #parts: ConcertParts;

  constructor(parts: ConcertParts) {
    this.#parts = parts;
  }

  read(body: Uint8Array): Request {
    const { tags, fault } = readTagged(body);
    const asked: Asked = new Map(tags);
    if (asked.get("CD") === IDENTIFICATION) return this.#answered(asked, [["AE", state.done]]);
    const order = fault ? undefined : orderOf(asked);
    if (order) return this.#request(asked, order);
    return this.#answered(asked, this.#state({ how: "message-wrong" }));
  }

  busy(body: Uint8Array): Uint8Array {
    const asked: Asked = new Map(readTagged(body).tags);
    return encodeTagged([...this.#head(asked), ["AE", state.notDone], ["AF", BUSY]]);
  }

  ownSale({ amountMinor, currency }: Order, reference: string): Request {
    const asked: Asked = new Map([
      ["CZ", "0300"],
      ["CA", "01"],
      ["CB", shortest(amountMinor)],
      ["CD", "0"],
      ["CE", currency],
      ...(reference === "" ? [] : [["CF", reference] as const]),
    ]);
    return this.#request(asked, { action: "debit", amountMinor, currency });
  }

  #request(asked: Asked, order: Order): Request {
    const parts = this.#parts;
    const atOnce = asked.get("BA") === AT_ONCE;
    const takenOnly = parts.fault("taken-only") !== undefined;
    const taken = atOnce || takenOnly || parts.fault("taken-first") !== undefined;
    const early = () =>
      encodeTagged([...this.#head(asked), ...this.#echo(asked), ["AE", state.taken]]);
    return {
      order,
      early: taken ? early() : null,
      repliesAtEnd: !atOnce && !takenOnly,
      reply: (ending) => encodeTagged(this.#tags(asked, ending)),
    };
  }

  /** Returns a request that is answered at once, because it begins no payment. */
  #answered(asked: Asked, tags: readonly Tagged[]): Request {
    const own = ["CA", "CD"].flatMap((tag) => pair(tag, asked.get(tag)));
    const early = encodeTagged([...this.#head(asked), ...own, ...tags]);
    return { order: null, early, repliesAtEnd: false, reply: () => early };
  }

  #head(asked: Asked): readonly Tagged[] {
    const version = this.#parts.fault("other-version") ? "0301" : asked.get("CZ");
    const { serialNumber } = this.#parts.device;
    const own = serialNumber.slice(-12).padStart(12, "0");
    return [
      ["CZ", version === undefined || version.length !== 4 ? "0300" : version],
      ["CJ", own],
    ];
  }

  /** Returns the tags of the request that the answer repeats (docs/concert.md 4.2). */
  #echo(asked: Asked): readonly Tagged[] {
    return ["CA", "CE", "BA", "CD", "CB", "CF", "CH"].flatMap((tag) => pair(tag, asked.get(tag)));
  }

  #tags(asked: Asked, ending: Ending): readonly Tagged[] {
    const echo = this.#altered(this.#echo(asked), ending);
    return [
      ...this.#head(asked),
      ...echo,
      ...this.#state(ending),
      ...(ending.how === "done" ? this.#card(asked, ending) : []),
      ...(this.#parts.fault("unknown-tags") ? unknown : []),
      ...receiptTags(this.#parts, asked.get("CK"), ending),
    ];
  }

  #state(ending: Pick<Ending, "how" | "forced">): readonly Tagged[] {
    const { forced } = ending;
    if (ending.how !== "done") {
      const reason = forced ?? reasonOf[ending.how];
      return [["AE", state.notDone], ...(reason === "none" ? [] : [["AF", reason] as const])];
    }
    if (this.#parts.fault("no-state")) return [];
    if (this.#parts.fault("odd-state")) return [["AE", "99"]];
    const reason = this.#parts.fault("done-with-reason") ? [["AF", "09"] as const] : [];
    return [["AE", state.done], ...reason];
  }

  /** Returns the repeated tags as faults change them; no CB if cancelled (docs/concert.md 4.2). */
  #altered(echo: readonly Tagged[], ending: Ending): readonly Tagged[] {
    const parts = this.#parts;
    const { amountMinor } = ending;
    const padded = parts.fault("padded-amount") !== undefined;
    const amount = padded ? String(amountMinor).padStart(12, "0") : shortest(amountMinor);
    const { otherPrivate } = parts;
    const others: Record<string, string | null | undefined> = {
      CB: parts.fault("no-amount") || ending.how === "cancelled" ? null : amount,
      CE: parts.fault("other-currency") && "840",
      CA: parts.fault("other-register") && "99",
      CD: parts.fault("other-action") && "1",
      CF: otherPrivate,
    };
    if (parts.fault("no-echo")) Object.assign(others, { CA: null, CB: null, CD: null, CE: null });
    const altered = echo.flatMap(([tag, value]) =>
      pair(tag, others[tag] === undefined ? value : others[tag]),
    );
    if (otherPrivate === undefined || echo.some(([tag]) => tag === "CF")) return altered;
    return [...altered, ["CF", otherPrivate]];
  }

  #card(asked: Asked, { card: name, authorisation }: Done): readonly Tagged[] {
    // A reply about a cheque has no tags of a card (docs/concert.md 4.5).
    if (asked.get("CC") === CHEQUE) return [];
    const card = testCards[name];
    const pan = printedPan(name, this.#parts.report, "#");
    return [
      ["CC", applicationOf(card)],
      ["CI", card.technology === "chip" ? "1" : "2"],
      ["AC", authorisation],
      ...pair("AA", pan === "" ? undefined : pan),
      ["AI", card.aid],
      ["AB", card.expiry],
      ["CG", this.#parts.options.device.contractNumber.slice(-7)],
    ];
  }
}

const CHEQUE = "00C";
const unknown: readonly Tagged[] = [
  ["QX", "?"],
  ["ZY", "0123456789"],
];

function orderOf(asked: Asked): Order | undefined {
  const action = actions[asked.get("CD") ?? ""] ?? "other";
  const [amount = "", currency = ""] = [asked.get("CB"), asked.get("CE")];
  if (!saysAll(asked)) return undefined;
  if (!/^\d{1,12}$/.test(amount) || !/^\d{3}$/.test(currency)) return undefined;
  return { action, amountMinor: Number(amount), currency };
}

/** Returns the amount with as few digits as possible, at least two (docs/concert.md 4.2). */
function shortest(amountMinor: number): string {
  return String(amountMinor).padStart(2, "0");
}

function pair(tag: string, value: string | null | undefined): readonly Tagged[] {
  return value === null || value === undefined ? [] : [[tag, value]];
}
