import type { Memory } from "../memory/memory.ts";

/** The effects of a due job on the register (docs/zvt.md 11.4, 11.5). */
interface DemandKind {
  /** The status that the enquiry reports. */
  readonly status: number;
  /** Control fields of the commands that get the job done. */
  readonly cures: readonly number[];
  /** Result code of the 06 1E that refuses a command because the job is due. */
  readonly refusal: number;
}

/** Jobs that the terminal wants done before it takes cards again; the first is reported first. */
export const demandTable = {
  /** Of CCV: 08 13 first, then initialisation and diagnosis (docs/zvt.md 10.6). */
  configuration: { status: 0x51, cures: [0x0813], refusal: 0x51 },
  initialisation: { status: 0x51, cures: [0x0693], refusal: 0x51 },
  diagnosis: { status: 0xc2, cures: [0x0670], refusal: 0xc2 },
  clock: { status: 0x62, cures: [0x0691, 0x0670], refusal: 0x62 },
  update: { status: 0xc4, cures: [0x0810], refusal: 0xc4 },
  "storage-full": { status: 0xb1, cures: [0x0650], refusal: 0xb1 },
  "end-of-day": { status: 0xf0, cures: [0x0650], refusal: 0xf0 },
} as const satisfies Record<string, DemandKind>;

type Demand = keyof typeof demandTable;
export const demands = Object.keys(demandTable) as Demand[];

/** Returns the due job that has to be done first. */
export function mostUrgent(memory: Memory): Demand | undefined {
  return demands.find((demand) => memory.demands.includes(demand));
}

/** Marks the jobs that a command has done as done. */
export function cure(memory: Memory, control: number): void {
  for (const demand of demands) if (isCuredBy(demand, control)) memory.demand(demand, false);
}

/** Whether the command does a due job: then it runs although another job is due. */
export function curesSomething(memory: Memory, control: number): boolean {
  return demands.some((name) => memory.demands.includes(name) && isCuredBy(name, control));
}

function isCuredBy(demand: Demand, control: number): boolean {
  const { cures }: DemandKind = demandTable[demand];
  return cures.includes(control);
}
