import type {
  Dialogue,
  DialogueListener,
  Messages,
  Opened,
  Reading,
} from "../../src/tp-manager/terminal/one-way/dialogue.ts";
import { OneWayTerminal } from "../../src/tp-manager/terminal/one-way/one-way-terminal.ts";
import { resultReport } from "../../src/tp-manager/terminal/one-way/result-report.ts";
import type { Life } from "../simulation/life.ts";
import { recordingLog } from "../support/house/recording-log.ts";
import type { Family } from "./assumptions.ts";
import type { Option } from "./chooser.ts";
import type { ResultOfCharge } from "./timeline.ts";
import type { World } from "./world.ts";

const [CARD_MS, AGAIN_MS, WAIT_MS] = [3_000, 5_000, 210_000];
const REPORTED_MAX = 3;
const silent = recordingLog().log;
const reasons = { approved: null, declined: "declined", gone: "cancelled" } as const;

interface Result {
  readonly says: keyof typeof reasons;
  readonly amountMinor: number;
  readonly reference: string | null;
}

const bytesOf = (result: object): Uint8Array => Buffer.from(JSON.stringify(result));
const resultOf = (bytes: Uint8Array): Result => JSON.parse(Buffer.from(bytes).toString("utf8"));

const messages: Messages = {
  request: ({ reference = null }) => bytesOf({ reference }),
  read: (reply, order): Reading => {
    const { says, amountMinor, reference } = resultOf(reply);
    const good = says === "approved";
    const resultCode = good ? "0" : "7";
    const coded = { good, resultCode, resultText: says, reason: reasons[says] };
    const message = {
      amountMinor,
      currencyNumeric: "978",
      reference,
      isOurRegister: false,
      differs: [],
      maskedPan: null,
    };
    return {
      reading: "result",
      report: resultReport({ ...coded, ...message }, order),
      ticket: "",
      end: "known",
    };
  },
};

/** The product's own driver of terminals that cannot be asked, on a line of the model. */
export function oneWayTerminal(world: World, life: Life, family: Family): OneWayTerminal {
  const dialogue = new OneWayLine(world, life, family === "concert");
  const limits = { waitMs: WAIT_MS, quietMs: WAIT_MS, silenceMs: 30_000 };
  return new OneWayTerminal({ messages, dialogue, clock: life.clock, log: silent, ...limits });
}

class OneWayLine implements Dialogue {
  readonly isShared: boolean;
  readonly problem = null;
  readonly #world: World;
  readonly #life: Life;
  #listener: DialogueListener | undefined;

  constructor(world: World, life: Life, isShared: boolean) {
    this.#world = world;
    this.#life = life;
    this.isShared = isShared;
  }

  start(listener: DialogueListener): void {
    this.#listener = listener;
  }

  open(): Promise<Opened> {
    const { isAway } = this.#world;
    return Promise.resolve(
      isAway ? { opened: false, why: "away", text: "no line" } : { opened: true },
    );
  }

  ping(): Promise<Opened> {
    return this.open();
  }

  leave(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }

  send(
    request: Uint8Array,
    mayLeave: () => boolean,
  ): Promise<"taken" | "refused" | "unanswered" | "lapsed"> {
    const { chooser, unreported, order } = this.#world;
    if (unreported.length > 0 && this.isShared) {
      const comes = chooser.choose("an earlier result", [
        "does not come",
        "comes before the request",
      ]);
      if (comes !== "does not come") this.#reportNext(true);
    }
    if (!mayLeave()) return Promise.resolve("lapsed");
    this.#world.leaves("payment");
    const { reference } = JSON.parse(Buffer.from(request).toString("utf8")) as Result;
    if (reference !== null) this.#world.named.set(reference, `${order} #${this.#world.attempt}`);
    const way = chooser.choose(`the payment of ${order}`, this.#waysOf());
    return Promise.resolve(this.#takes(way, reference));
  }

  #waysOf(): Option[] {
    const { chooser, unreported, lastReported } = this.#world;
    const ways: Option[] = [
      "the bank approves",
      "the bank declines",
      "the customer goes",
      ["the customer goes, and the card is charged", "abort-final"],
      ["the customer goes, and the charge is reported late", "abort-final"],
      ["the bank declines, and the card is charged", "decline-final"],
      "no result comes, the bank approves",
      "no result comes, the customer goes",
      "the result comes late, the bank approves",
      "the result comes late, the customer goes",
      "the request is refused",
      "the request is not answered, the bank approves",
      "the request is not answered, the customer goes",
      ["tp-manager is killed, the customer goes", "restarts"],
      ["tp-manager is killed, the bank approves", "restarts"],
    ];
    if (!this.isShared) ways.push("the connection ends, the bank approves");
    if (!this.isShared) ways.push("the connection ends, the customer goes");
    const ours = ["the bank approves", "the customer goes"];
    const isOther = unreported.length > 0 && (this.isShared || chooser.has("own-connection"));
    for (const end of isOther ? ours : []) {
      const comes = `an earlier result comes, ${end}`;
      ways.push(this.isShared ? comes : [comes, "own-connection"]);
      ways.push([`an earlier result comes after its own, ${end}`, "ordered-results"]);
    }
    for (const end of lastReported ? ours : []) {
      ways.push([`the last result comes again, ${end}`, "one-result-each"]);
    }
    for (const end of ours)
      ways.push([`the result of a sale of staff comes, ${end}`, "own-report"]);
    return ways;
  }

  #takes(way: string, reference: string | null): "taken" | "refused" | "unanswered" {
    const { order, attempt, unreported, lastReported, recorder, chooser } = this.#world;
    if (way === "the request is refused") {
      recorder.known("the request is refused");
      return "refused";
    }
    const says = way.includes("approves")
      ? "approved"
      : way.includes("declines")
        ? "declined"
        : "gone";
    const isCharged = says === "approved" || way.includes("charge");
    const broke = says === "declined" ? "decline-final" : "abort-final";
    const own = (): ResultOfCharge => {
      const charge = isCharged
        ? this.#world.charge(order, { attempt }, says === "approved" ? null : broke)
        : null;
      if (charge !== null) this.#world.keep(charge);
      return { bytes: this.#result(says, order, reference), charge };
    };
    if (way.startsWith("tp-manager is killed")) {
      unreported.push(own());
      this.#world.kill();
      return "taken";
    }
    if (way.startsWith("an earlier result comes after")) {
      this.#later(2 * CARD_MS, () => this.#reportNext(true));
    } else if (way.startsWith("an earlier result"))
      this.#later(AGAIN_MS / 5, () => this.#reportNext(false));
    if (way.startsWith("the last result") && lastReported) {
      this.#later(AGAIN_MS / 5, () => this.#report(lastReported, false));
    }
    if (way.startsWith("the result of a sale")) {
      const bytes = this.#result("approved", order, null);
      this.#later(AGAIN_MS / 5, () => this.#report({ bytes, charge: null }, false));
    }
    const isUnreported = /^no result|not answered|connection ends/.test(way);
    this.#later(CARD_MS, () => {
      const message = own();
      if (isUnreported) unreported.push(message);
      else if (way.startsWith("the result comes late")) this.#comesLate(message);
      else {
        // Results come in their order: no earlier one follows.
        if (!chooser.has("ordered-results")) unreported.length = 0;
        this.#report({ ...message, charge: says === "approved" ? message.charge : null }, false);
      }
      if (way.startsWith("the connection")) this.#gone();
      if (way.endsWith("reported late")) {
        const approved = {
          bytes: this.#result("approved", order, reference),
          charge: message.charge,
        };
        const own = this.#world.lastReported;
        this.#later(4 * CARD_MS, () => {
          // Results come in their order: no earlier one follows the result of a later payment.
          const isLast = this.#world.lastReported === own;
          if (isLast || chooser.has("ordered-results")) this.#report(approved, true);
        });
      }
    });
    return way.startsWith("the request is not answered") ? "unanswered" : "taken";
  }

  #result(says: Result["says"], order: string, reference: string | null): Uint8Array {
    const { echoes } = this.#world;
    const isNamed = echoes === "always" || (echoes !== "never" && says === "approved");
    return bytesOf({
      says,
      amountMinor: this.#world.amountOf(order),
      reference: isNamed ? reference : null,
    });
  }

  #comesLate(message: ResultOfCharge): void {
    this.#later(WAIT_MS, () => {
      if (this.isShared) this.#report(message, true);
      else this.#world.unreported.push(message);
    });
  }

  #gone(): void {
    this.#world.recorder.known("the connection ends");
    if (this.#life.alive) this.#listener?.gone("the connection ended");
  }

  #reportNext(isEarly: boolean): void {
    const next = this.#world.unreported.shift();
    if (next) this.#report(next, isEarly);
  }

  /** Reports a result, again where the line is shared, until it gets its ACK. */
  #report(message: ResultOfCharge, isEarly: boolean, times = 1): void {
    const { recorder, unreported, named } = this.#world;
    if (!this.#life.alive) {
      unreported.push(message);
      return;
    }
    const { says, reference } = resultOf(message.bytes);
    const of = reference === null ? "" : ` of ${named.get(reference)}`;
    recorder.known(`a result: ${says}${of}${isEarly ? ", too early" : ""}`);
    // A result that is byte for byte the last one shows nothing new.
    const { lastReported } = this.#world;
    const isAgain =
      lastReported !== undefined && Buffer.from(message.bytes).equals(lastReported.bytes);
    recorder.shows(isAgain ? null : message.charge, `${says}${of}${message.charge}`);
    const isStored = this.#listener?.reply(message.bytes, isEarly) ?? false;
    recorder.known(isStored ? "-> ACK" : "-> no ACK");
    this.#world.lastReported = message;
    if (isStored || !this.isShared || times >= REPORTED_MAX) return;
    this.#later(AGAIN_MS, () => this.#report(message, true, times + 1));
  }

  /** The terminal goes on, whatever becomes of the register. */
  #later(ms: number, work: () => void): void {
    this.#world.clock.startTimer("the terminal", ms, work);
  }
}
