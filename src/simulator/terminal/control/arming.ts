import { FaultError, faultRequest } from "../faults/fault-request.ts";
import { canStrike, type FaultTable, type LineTrait } from "../faults/fault-table.ts";
import type { Controlled } from "./controlled.ts";

type Armed = Pick<Controlled, "faults" | "protocol" | "terminal">;

/** The faults that can strike on the lines that this terminal has. */
export function faultsHere({ protocol, terminal }: Armed): FaultTable {
  const { kinds, ...others } = protocol.faults;
  const here = Object.entries(kinds).filter(([, kind]) => canStrike(kind, terminal.traits));
  return { ...others, kinds: Object.fromEntries(here) };
}

/** Arms a fault given as a name and loose arguments. Throws {@link FaultError}. */
export function arm(simulator: Armed, name: string, given: Readonly<Record<string, unknown>>) {
  const { faults, protocol, terminal } = simulator;
  const { kinds } = protocol.faults;
  const { needs = [] } = (Object.hasOwn(kinds, name) ? kinds[name] : undefined) ?? {};
  const missing = needs.filter((trait) => !terminal.traits.includes(trait));
  if (missing.length > 0) {
    const lacking = missing.map((trait) => traitWords[trait]).join(" and ");
    throw new FaultError(`fault ${name} cannot strike here: this terminal has no ${lacking}`);
  }
  return faults.arm(faultRequest(faultsHere(simulator), name, given));
}

const traitWords: Readonly<Record<LineTrait, string>> = {
  tcp: "TCP",
  serial: "serial line",
  sessions: "sessions",
  bare: "messages without sessions",
};
