import type { Memory } from "../memory/memory.ts";

/** A maintenance demand of the terminal, as messages report it (docs/zvt.md 11.4, 11.5). */
interface DemandKind {
  /** The code of the demand in a status enquiry, and in the abort (06 1E) of other commands. */
  readonly status: number;
  /** The commands of the register that fulfil the demand. */
  readonly cures: readonly number[];
}

/** All maintenance demands, the most urgent one first: the terminal reports only that one. */
export const demandTable = {
  /** Terminals of CCV demand 08 13 first, then initialisation and diagnosis (docs/zvt.md 10.6). */
  configuration: { status: 0x51, cures: [0x0813] },
  initialisation: { status: 0x51, cures: [0x0693] },
  diagnosis: { status: 0xc2, cures: [0x0670] },
  clock: { status: 0x62, cures: [0x0691, 0x0670] },
  update: { status: 0xc4, cures: [0x0810] },
  "storage-full": { status: 0xb1, cures: [0x0650] },
  "end-of-day": { status: 0xf0, cures: [0x0650] },
} as const satisfies Record<string, DemandKind>;

type Demand = keyof typeof demandTable;
export const demands = Object.keys(demandTable) as Demand[];

/** Returns the demand that has to be fulfilled first; undefined: there is no demand. */
export function mostUrgent(memory: Memory): Demand | undefined {
  return demands.find((demand) => memory.demands.includes(demand));
}

/** Removes the demands that a command has fulfilled. */
export function cure(memory: Memory, control: number): void {
  for (const demand of demands) if (isCuredBy(demand, control)) memory.demand(demand, false);
}

/** Whether a command fulfils a demand: then other demands do not prevent the command. */
export function curesSomething(memory: Memory, control: number): boolean {
  return demands.some((name) => memory.demands.includes(name) && isCuredBy(name, control));
}

function isCuredBy(demand: Demand, control: number): boolean {
  const { cures }: DemandKind = demandTable[demand];
  return cures.includes(control);
}
