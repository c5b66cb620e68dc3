import { z } from "zod";
import { ValueError } from "../../switch-table.ts";
import { cardNames } from "../bank/cards.ts";
import { type CardAction, type CustomerAction, keys } from "../cardholder.ts";
import { type FaultTable, faultRequest, missingTraits } from "../faults/fault-kinds.ts";
import { type Machine, NotNow, type TerminalProtocol } from "../machine.ts";
import type { Endpoints } from "../port/ports.ts";
import type { Host } from "../terminal-parts.ts";
import texts from "../texts.json" with { type: "json" };

/** What people and tests control in a simulator: an interface, as its class imports this file. */
export interface Controlled extends Host {
  readonly protocol: Pick<TerminalProtocol, "name" | "faults" | "demands">;
  readonly terminal: Machine;
  readonly endpoints: Endpoints;
  readonly supply: { readonly cableIn: boolean; readonly powered: boolean };
  setCable(isIn: boolean): Promise<void>;
  setPower(on: boolean): Promise<void>;
  pause(ms: number): Promise<void>;
}

/** Returns the faults that can strike here: some faults need a line that this terminal lacks. */
export function faultsHere({ protocol, terminal }: Controlled): FaultTable {
  const { kinds, ...others } = protocol.faults;
  const { traits } = terminal;
  const here = Object.entries(kinds).filter(([, kind]) => missingTraits(kind, traits).length === 0);
  return { ...others, kinds: Object.fromEntries(here) };
}

/** Arms a fault that is given as a name and arguments. Throws {@link ValueError}. */
export function arm(simulator: Controlled, name: string, given: Readonly<Record<string, unknown>>) {
  const { faults, protocol, terminal } = simulator;
  const { kinds } = protocol.faults;
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  const missing = kind ? missingTraits(kind, terminal.traits) : [];
  if (missing.length > 0) {
    const none = missing.map((trait) => texts.traits[trait]).join(" and ");
    throw new ValueError(`fault ${name} cannot strike here: this terminal has no ${none}`);
  }
  return faults.arm(faultRequest(faultsHere(simulator), name, given));
}

/** Disarms all faults and ends those that have struck. Returns the number of faults. */
export function disarm({ faults, terminal }: Controlled): number {
  const disarmed = faults.disarm();
  terminal.parts.release();
  return disarmed;
}

/** The arguments of a person's action: its `value`, and those given as `--name value`. */
type Asked = Readonly<Record<string, string>>;

interface Hand {
  /** The arguments that can follow the action's name, as text for people. */
  readonly takes?: string;
  act(simulator: Controlled, asked: Asked): unknown;
}

const card = z.enum(cardNames).optional();
const within = z.coerce.number().min(0).max(120).default(0);
const digits = z.string().regex(/^\d{1,40}$/, "digits are missing");
const code = z.coerce.number().int().min(1).max(99).default(5);
const moment = "[--at MOMENT]";
const cards = "[--card NAME]";

/** Returns a hand (a person's action) that makes the simulated customer carry out `action`. */
function does(action: (asked: Asked) => CustomerAction, takes = ""): Hand {
  return { takes, act: (simulator, asked) => customerAction(simulator, asked, action(asked)) };
}

function presents(how: (asked: Asked) => Omit<CardAction, "action" | "card">, takes = cards): Hand {
  const insert = (asked: Asked): CustomerAction => {
    const name = card.parse(asked["card"]);
    return { action: "insert", ...(name ? { card: name } : {}), ...how(asked) };
  };
  return does(insert, takes);
}

function sets(change: { paperOut?: boolean; outOfOrder?: boolean; busy?: boolean }): Hand {
  return { act: ({ terminal }) => Object.assign(terminal.parts, change) };
}

function plays(who: "auto" | "manual"): Hand {
  return { act: ({ terminal }) => Object.assign(terminal.parts.customer, { plays: who }) };
}

/** All actions of a person at the terminal, by their names on the page and in `simulate NAME`. */
export const hands: Readonly<Record<keyof typeof texts.hands, Hand>> = {
  approve: presents(() => ({ outcome: "approve" })),
  decline: presents(
    (asked) => ({ outcome: { decline: code.parse(asked["code"]) } }),
    `${cards} [--code NN]`,
  ),
  "wrong-pin": presents(() => ({ outcome: "approve", pin: "wrong-first" })),
  "ask-pin": presents(() => ({ outcome: "approve", pin: "asked" })),
  insert: presents(() => ({})),
  "other-card": does(() => ({ action: "other-card" })),
  pin: does(({ value }) => ({ action: "digits", digits: digits.parse(value) }), "DIGITS"),
  key: does(({ value }) => ({ action: "key", key: z.enum(keys).parse(value) }), "NAME"),
  green: does(() => ({ action: "key", key: "ok" })),
  red: does(() => ({ action: "cancel" })),
  "walk-away": does(() => ({ action: "time-out" })),
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
      const { toggles } = terminal;
      if (!("unregistered" in toggles)) throw new ValueError("this protocol has no registration");
      toggles["unregistered"] = true;
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
      // A payment that waits for the customer is cancelled, as later payments would wait for it.
      if (parts.customer.act({ action: "cancel" })) await simulator.terminal.idle();
    },
  },
};

/** Performs the action of this name. Throws {@link NotNow}, {@link ValueError} or ZodError. */
export async function say(simulator: Controlled, name: string, asked: Asked): Promise<unknown> {
  const hand = Object.hasOwn(hands, name) ? hands[name as keyof typeof hands] : undefined;
  const all = Object.keys(hands).join(", ");
  if (!hand) throw new ValueError(`there is no ${name}; there are ${all}`);
  return await hand.act(simulator, asked);
}

/** Performs a customer's action as soon as the terminal waits for it, within `within` seconds. */
async function customerAction(simulator: Controlled, asked: Asked, action: CustomerAction) {
  const stepMs = 50;
  const { customer } = simulator.terminal.parts;
  let leftMs = within.parse(asked["within"]) * 1_000;
  while (!customer.act(action)) {
    if (leftMs <= 0) {
      const why = customer.plays === "auto" ? ": its customer pays alone, say by-hand first" : "";
      throw new NotNow(`the terminal is not waiting for that${why}`);
    }
    await simulator.pause(stepMs);
    leftMs -= stepMs;
  }
}

/** Arms a fault for something that a person does at the terminal, such as pulling the plug. */
function armAsked(simulator: Controlled, name: string, { value: _, ...given }: Asked) {
  return arm(simulator, name, given);
}
