import { code as currencyOfCode, number as currencyOfNumber } from "currency-codes";
import type { FaultRequest } from "./faults/fault-request.ts";
import {
  type Behaviour,
  type Device,
  defaultOptions,
  type Pace,
  type SerialDevice,
  type TerminalSimulatorOptions,
  type Timers,
} from "./options.ts";

/** A value that a switch cannot take; the message names the switch and gives an example. */
export class SwitchError extends Error {
  override readonly name = "SwitchError";
}

/** Options as the switches fill them in. */
export interface Draft extends Open<Omit<TerminalSimulatorOptions, Nested>> {
  faults: FaultRequest[];
  timers: Open<Timers>;
  pace: Open<Pace>;
  device: Open<Device>;
  behaviour: Open<Behaviour>;
  readyFile?: string;
}

type Nested = "faults" | "timers" | "pace" | "device" | "behaviour";
type Open<T> = { -readonly [K in keyof T]?: T[K] };

export interface Switch {
  /** Name of the value in the help text; a switch without one is on or off. */
  readonly argument?: string;
  readonly multiple?: boolean;
  readonly description: string;
  apply?(value: string, draft: Draft): void;
}

/** A duration among the timers or the pace of the simulated world. */
export function milliseconds<G extends "timers" | "pace">(
  name: string,
  group: G,
  key: keyof (typeof defaultOptions)[G],
  what: string,
): Switch {
  return {
    argument: "N",
    description: `${what}; default ${String(defaultOptions[group][key])}`,
    apply: (value, draft) => {
      const values = draft[group] as Partial<Record<PropertyKey, number>>;
      values[key] = whole(name, value, String(defaultOptions[group][key]));
    },
  };
}

export function serialOf(draft: Draft): SerialDevice {
  return draft.serial ?? { path: "", baudRate: 9_600, stopBits: 2 };
}

export function whole(name: string, value: string, example: string): number {
  if (!/^\d{1,9}$/.test(value)) throw wrong(name, value, example);
  return Number(value);
}

export function between(name: string, value: string, min: number, max: number): number {
  const number = whole(name, value, String(min));
  if (number < min || number > max) throw wrong(name, value, String(min));
  return number;
}

export function oneOf<T extends string>(name: string, value: string, words: readonly T[]): T {
  const found = words.find((word) => word === value);
  if (!found) throw wrong(name, value, words.join(" or "));
  return found;
}

/** Four digits as on the wire, from EUR or 978. */
export function currencyNumber(text: string): string {
  const found = /^\d+$/.test(text)
    ? currencyOfNumber(text.padStart(3, "0"))
    : currencyOfCode(text.toUpperCase());
  if (!found) throw wrong("currency", text, "EUR");
  return found.number.padStart(4, "0");
}

export function wrong(name: string, value: string, example: string): SwitchError {
  return new SwitchError(`--${name} ${value} cannot be used; right would be ${example}`);
}
