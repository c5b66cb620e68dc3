import { z } from "zod";
import { ValueError } from "../../switch-table.ts";
import { cardNames } from "../bank/cards.ts";
import { type CardAction, type CustomerAction, keys } from "../cardholder.ts";
import { canStrike, type FaultTable, faultRequest } from "../faults/fault-kinds.ts";
import type { Machine, TerminalProtocol } from "../machine.ts";
import type { Endpoints } from "../port/connections.ts";
import type { Host } from "../terminal-parts.ts";
import texts from "../texts.json" with { type: "json" };

/** The running simulator, as far as it is controlled from outside. */
export interface Controlled extends Host {
  readonly protocol: Pick<TerminalProtocol, "name" | "faults" | "demands">;
  readonly terminal: Machine;
  readonly endpoints: Endpoints;
  readonly supply: { readonly cableIn: boolean; readonly powered: boolean };
  setCable(isIn: boolean): Promise<void>;
  setPower(on: boolean): Promise<void>;
  pause(ms: number): Promise<void>;
}

/** Returns the faults that can strike on the lines of this terminal. */
export function faultsHere({ protocol, terminal }: Controlled): FaultTable {
  const { kinds, ...others } = protocol.faults;
  const here = Object.entries(kinds).filter(([, kind]) => canStrike(kind, terminal.traits));
  return { ...others, kinds: Object.fromEntries(here) };
}

/** Arms a fault given as a name and loose arguments. Throws {@link ValueError}. */
export function arm(simulator: Controlled, name: string, given: Readonly<Record<string, unknown>>) {
  const { faults, protocol, terminal } = simulator;
  const { kinds } = protocol.faults;
  const { needs = [] } = (Object.hasOwn(kinds, name) ? kinds[name] : undefined) ?? {};
  const missing = needs.filter((trait) => !terminal.traits.includes(trait));
  if (missing.length > 0) {
    const lacking = missing.map((trait) => texts.traits[trait]).join(" and ");
    throw new ValueError(`fault ${name} cannot strike here: this terminal has no ${lacking}`);
  }
  return faults.arm(faultRequest(faultsHere(simulator), name, given));
}

/** Takes all faults back and lets go what one of them holds. Returns how many. */
export function disarm({ faults, terminal }: Controlled): number {
  const disarmed = faults.disarm();
  terminal.parts.release();
  return disarmed;
}

/** A request that a hand cannot fulfil; the message says why. */
class HandError extends Error {
  override readonly name = "HandError";
  readonly statusCode: number;

  constructor(message: string, statusCode = 400) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** The arguments for a hand: the value, and those given as `--name value`. */
type Asked = Readonly<Record<string, string>>;

/** One thing that a person can do at a terminal. */
interface Hand {
  /** The arguments that may follow the name, as people read them. */
  readonly takes?: string;
  act(simulator: Controlled, asked: Asked): unknown;
}

const card = z.enum(cardNames).optional();
const approved = { kind: "approve" } as const;
const within = z.coerce.number().min(0).max(120).default(0);
const digits = z.string().regex(/^\d{1,40}$/, "digits are missing");
const code = z.coerce.number().int().min(1).max(99).default(5);
const moment = "[--at MOMENT]";
const cards = "[--card NAME]";

/** The customer presents a card. */
function presents(how: CardChoice | ((asked: Asked) => CardChoice)): Hand {
  const act: Hand["act"] = (simulator, asked) => {
    const name = card.parse(asked["card"]);
    const choice = typeof how === "function" ? how(asked) : how;
    const chosen = { ...(name ? { card: name } : {}), ...choice };
    return customerAction(simulator, asked, { action: "insert", ...chosen });
  };
  return { takes: cards, act };
}

type CardChoice = Omit<CardAction, "action" | "card">;

/** The customer does something else. */
function does(action: CustomerAction): Hand {
  return { act: (simulator, asked) => customerAction(simulator, asked, action) };
}

/** An operator changes the terminal itself. */
function sets(change: { paperOut?: boolean; outOfOrder?: boolean; busy?: boolean }): Hand {
  return { act: ({ terminal }) => Object.assign(terminal.parts, change) };
}

function plays(who: "auto" | "manual"): Hand {
  return { act: ({ terminal }) => Object.assign(terminal.parts.customer, { plays: who }) };
}

/**
 * All that hands can do at the terminal: the buttons of its page, and the names that follow
 * `simulate` in a shell. An action of the customer takes `--within SECONDS`.
 */
export const hands: Readonly<Record<keyof typeof texts.hands, Hand>> = {
  approve: presents({ outcome: approved }),
  decline: {
    ...presents((asked) => ({ outcome: { kind: "decline", code: code.parse(asked["code"]) } })),
    takes: `${cards} [--code NN]`,
  },
  "wrong-pin": presents({ outcome: approved, pin: "wrong-first" }),
  "ask-pin": presents({ outcome: approved, pin: "asked" }),
  insert: presents({}),
  "other-card": does({ action: "other-card" }),
  pin: {
    takes: "DIGITS",
    act: (simulator, asked) =>
      customerAction(simulator, asked, { action: "digits", digits: digits.parse(asked["value"]) }),
  },
  key: {
    takes: "NAME",
    act: (simulator, asked) =>
      customerAction(simulator, asked, { action: "key", key: z.enum(keys).parse(asked["value"]) }),
  },
  green: does({ action: "key", key: "ok" }),
  red: does({ action: "cancel" }),
  "walk-away": does({ action: "time-out" }),
  unplug: {
    takes: `${moment} [--ms N]`,
    act: (simulator, asked) =>
      asked["at"] === undefined ? simulator.setCable(false) : armAsked(simulator, "unplug", asked),
  },
  plug: { act: (simulator) => simulator.setCable(true) },
  "power-off": {
    takes: moment,
    act: (simulator, asked) =>
      asked["at"] === undefined ? simulator.setPower(false) : armAsked(simulator, "reboot", asked),
  },
  "power-on": { act: (simulator) => simulator.setPower(true) },
  reboot: { act: (simulator) => simulator.reboot() },
  "paper-out": sets({ paperOut: true }),
  "paper-in": sets({ paperOut: false }),
  lock: sets({ outOfOrder: true }),
  unlock: sets({ outOfOrder: false }),
  busy: sets({ busy: true }),
  free: sets({ busy: false }),
  swap: {
    act: (simulator) => {
      const { parts } = simulator.terminal;
      parts.swapped = !parts.swapped;
      simulator.reboot();
    },
  },
  unregister: {
    act: ({ terminal }) => {
      const { unregistered } = terminal.toggles;
      if (!unregistered) throw new HandError("this protocol has no registration");
      unregistered.set(true);
    },
  },
  "by-hand": plays("manual"),
  "by-itself": plays("auto"),
  fault: {
    takes: `NAME ${moment}`,
    act: (simulator, asked) =>
      armAsked(simulator, z.string("a fault's name is missing").parse(asked["value"]), asked),
  },
  "no-faults": { act: (simulator) => disarm(simulator) },
  reset: {
    act: async (simulator) => {
      const { parts } = simulator.terminal;
      const wasSwapped = parts.swapped;
      Object.assign(parts, { outOfOrder: false, paperOut: false, busy: false, swapped: false });
      parts.customer.plays = simulator.options.behaviour.customer;
      disarm(simulator);
      await simulator.setPower(true);
      await simulator.setCable(true);
      if (wasSwapped) simulator.reboot();
      // A payment that waits for its customer would hold up every other one.
      if (parts.customer.act({ action: "cancel" })) await simulator.terminal.idle();
    },
  },
};

/** Does what a hand of this name does. Throws {@link HandError}, and ZodError for its values. */
export async function say(simulator: Controlled, name: string, asked: Asked): Promise<unknown> {
  const hand = Object.hasOwn(hands, name) ? hands[name as keyof typeof hands] : undefined;
  if (!hand) throw new HandError(`there is no ${name}; there are ${Object.keys(hands).join(", ")}`);
  return await hand.act(simulator, asked);
}

/** Lets the customer act as soon as the terminal waits for that, at most for `within` seconds. */
async function customerAction(
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
      throw new HandError(`the terminal is not waiting for that${why}`, 409);
    }
    await simulator.pause(stepMs);
    leftMs -= stepMs;
  }
}

/** Arms a fault with the arguments that a hand was given; its value is none of them. */
function armAsked(simulator: Controlled, name: string, { value: _, ...given }: Asked) {
  return arm(simulator, name, given);
}
