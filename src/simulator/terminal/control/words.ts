import { z } from "zod";
import { cardNames } from "../bank/cards.ts";
import { type CardAction, type CustomerAction, keys } from "../customer.ts";
import { arm } from "./arming.ts";
import type { Controlled } from "./controlled.ts";

/** A word that cannot be carried out; the message says why. */
class WordError extends Error {
  override readonly name = "WordError";
  readonly statusCode: number;

  constructor(message: string, statusCode = 400) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** The words behind a word: its value, and what `--name value` said. */
type Asked = Readonly<Record<string, string>>;

interface Word {
  readonly help: string;
  /** The words that may follow, for people. */
  readonly takes?: string;
  act(simulator: Controlled, asked: Asked): unknown;
}

const card = z.enum(cardNames).optional();
const approved = { kind: "approve" } as const;
const within = z.coerce.number().min(0).max(120).default(0);
const moment = "[--at MOMENT]";
const cards = "[--card NAME]";

/**
 * All that hands can do at the terminal: the buttons of its page, and what follows `simulate` in a
 * shell. A word that waits for the terminal to be ready for it takes `--within SECONDS`.
 */
export const words: Readonly<Record<string, Word>> = {
  approve: {
    help: "the customer presents a card, and the bank says yes",
    takes: cards,
    act: (simulator, asked) => present(simulator, asked, { outcome: approved }),
  },
  decline: {
    help: "a card to which the bank says no; --code is its ISO 8583 answer, 51 no money",
    takes: `${cards} [--code NN]`,
    act: (simulator, asked) => {
      const code = z.coerce.number().int().min(1).max(99).default(5).parse(asked["code"]);
      return present(simulator, asked, { outcome: { kind: "decline", code } });
    },
  },
  "wrong-pin": {
    help: "a card whose PIN is wrong once and then right",
    takes: cards,
    act: (simulator, asked) => present(simulator, asked, { outcome: approved, pin: "wrong-first" }),
  },
  "ask-pin": {
    help: "a card that asks for its PIN on the keys; every PIN is right but 0000",
    takes: cards,
    act: (simulator, asked) => present(simulator, asked, { outcome: approved, pin: "asked" }),
  },
  insert: {
    help: "a card; the cents of the amount say what the bank answers",
    takes: cards,
    act: (simulator, asked) => present(simulator, asked, {}),
  },
  "other-card": {
    help: "a card that is not for payments",
    act: (simulator, asked) => customerActs(simulator, asked, { action: "other-card" }),
  },
  pin: {
    help: "digits and the green key",
    takes: "DIGITS",
    act: (simulator, asked) => {
      const digits = z.string().regex(/^\d{1,40}$/, "digits are missing");
      return customerActs(simulator, asked, {
        action: "digits",
        digits: digits.parse(asked["value"]),
      });
    },
  },
  key: {
    help: `a key: ${keys.join(", ")}`,
    takes: "NAME",
    act: (simulator, asked) =>
      customerActs(simulator, asked, { action: "key", key: z.enum(keys).parse(asked["value"]) }),
  },
  green: {
    help: "the green key",
    act: (simulator, asked) => customerActs(simulator, asked, { action: "key", key: "ok" }),
  },
  red: {
    help: "the red key: the customer stops",
    act: (simulator, asked) => customerActs(simulator, asked, { action: "cancel" }),
  },
  "walk-away": {
    help: "the customer goes away, and the terminal waits in vain",
    act: (simulator, asked) => customerActs(simulator, asked, { action: "time-out" }),
  },
  unplug: {
    help: "pulls the cable until plug; with --at: at that moment of the next payment, for --ms",
    takes: `${moment} [--ms N]`,
    act: (simulator, asked) =>
      asked["at"] === undefined ? simulator.setCable(false) : armAsked(simulator, "unplug", asked),
  },
  plug: { help: "puts the cable back", act: (simulator) => simulator.setCable(true) },
  "power-off": {
    help: "takes the power until power-on; with --at: off and on at that moment",
    takes: moment,
    act: (simulator, asked) =>
      asked["at"] === undefined ? simulator.setPower(false) : armAsked(simulator, "reboot", asked),
  },
  "power-on": { help: "gives it power again", act: (simulator) => simulator.setPower(true) },
  reboot: { help: "power off and on", act: (simulator) => simulator.reboot() },
  "paper-out": {
    help: "the printer is empty: payments are refused",
    act: ({ terminal }) => {
      terminal.parts.paperOut = true;
    },
  },
  "paper-in": {
    help: "a new roll",
    act: ({ terminal }) => {
      terminal.parts.paperOut = false;
    },
  },
  lock: {
    help: "out of order",
    act: ({ terminal }) => {
      terminal.parts.outOfOrder = true;
    },
  },
  unlock: {
    help: "in order again",
    act: ({ terminal }) => {
      terminal.parts.outOfOrder = false;
    },
  },
  busy: {
    help: "somebody is in the terminal's own menu: no register is served",
    act: ({ terminal }) => {
      terminal.parts.busy = true;
    },
  },
  free: {
    help: "out of the menu again",
    act: ({ terminal }) => {
      terminal.parts.busy = false;
    },
  },
  swap: {
    help: "another terminal of its kind is put in its place; again: the first one is back",
    act: (simulator) => {
      const { parts } = simulator.terminal;
      parts.swapped = !parts.swapped;
      simulator.reboot();
    },
  },
  unregister: {
    help: "forgets its registration, where the protocol has one",
    act: ({ terminal }) => {
      const { unregistered } = terminal.toggles;
      if (!unregistered) throw new WordError("this protocol has no registration");
      unregistered.on = true;
    },
  },
  "by-hand": {
    help: "you are the customer: nothing happens until you act",
    act: ({ terminal }) => {
      terminal.parts.customer.plays = "manual";
    },
  },
  "by-itself": {
    help: "the customer acts alone again",
    act: ({ terminal }) => {
      terminal.parts.customer.plays = "auto";
    },
  },
  fault: {
    help: "arms a fault, with its arguments as --name value; the page lists them",
    takes: `NAME ${moment}`,
    act: (simulator, asked) => {
      const { value, ...given } = asked;
      return arm(simulator, z.string("a fault's name is missing").parse(value), given);
    },
  },
  "no-faults": { help: "takes all faults back", act: (simulator) => disarm(simulator) },
  reset: {
    help: "all as at the start: terminal, power, cable, paper, locks, faults, customer",
    act: async (simulator) => {
      const { parts } = simulator.terminal;
      const wasSwapped = parts.swapped;
      Object.assign(parts, { outOfOrder: false, paperOut: false, busy: false, swapped: false });
      parts.customer.plays = simulator.options.behaviour.customer;
      disarm(simulator);
      await simulator.setPower(true);
      await simulator.setCable(true);
      if (wasSwapped) simulator.reboot();
      // A payment that waits for hands would keep every other one back.
      if (parts.customer.act({ action: "cancel" })) await simulator.terminal.idle();
    },
  },
};

/** Carries out a word. Throws {@link WordError} and what the checks of its values throw. */
export async function say(simulator: Controlled, name: string, asked: Asked): Promise<unknown> {
  const word = Object.hasOwn(words, name) ? words[name] : undefined;
  if (!word) throw new WordError(`there is no ${name}; there are ${Object.keys(words).join(", ")}`);
  return await word.act(simulator, asked);
}

function present(
  simulator: Controlled,
  asked: Asked,
  how: Omit<CardAction, "action" | "card">,
): Promise<void> {
  const name = card.parse(asked["card"]);
  const action = { action: "insert", ...(name ? { card: name } : {}), ...how } as const;
  return customerActs(simulator, asked, action);
}

/** Acts as soon as the terminal waits for that. */
async function customerActs(
  simulator: Controlled,
  asked: Asked,
  action: CustomerAction,
): Promise<void> {
  const stepMs = 50;
  const { customer } = simulator.terminal.parts;
  let leftMs = within.parse(asked["within"]) * 1_000;
  while (!customer.act(action)) {
    if (leftMs <= 0) {
      const why = customer.plays === "auto" ? ": its customer pays alone, say by-hand first" : "";
      throw new WordError(`the terminal is not waiting for that${why}`, 409);
    }
    await simulator.pause(stepMs);
    leftMs -= stepMs;
  }
}

/** The value of a word is no argument of its fault. */
function armAsked(simulator: Controlled, name: string, { value: _, ...given }: Asked) {
  return arm(simulator, name, given);
}

function disarm({ faults, terminal }: Controlled): void {
  faults.disarm();
  terminal.parts.release();
}
