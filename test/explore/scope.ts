import type { Character } from "./device.ts";
import type { Spelling } from "./entry-reports.ts";
import type { Wait, World } from "./world.ts";

/** What a walk is about: one terminal's character, some orders, and the faults that may strike. */
export interface Scope {
  readonly name: string;
  readonly character: Character;
  readonly orders: readonly string[];
  /** How often the kiosk asks for one order. */
  readonly asks: number;
  readonly losses: number;
  readonly crashes: number;
  readonly late: number;
  readonly locks: number;
  /** One of these may strike, once. */
  readonly quirks: readonly Quirk[];
  /** The kiosk goes on before a question about its order has ended (504). */
  readonly impatient: boolean;
  /** The kiosk may cancel. */
  readonly cancels: boolean;
}

export type Quirk =
  | "empties its storage"
  | "empties its storage and restarts its numbers"
  | "repeats an older receipt"
  | "is swapped for a moment"
  | "takes the sale back"
  | "says that it took the sale back"
  | "charges a second time"
  | "keeps what was refused"
  | `spells ${Spelling}`;

export interface Move {
  /** Whose move: what neither kiosk nor a fault moves goes on by itself. */
  readonly by: "kiosk" | "connector" | "terminal" | "fault";
  readonly says: string;
  readonly next: World;
  /** A wait that the move ends, and the attempt it was about. */
  readonly waited?: { readonly wait: Wait; readonly attempt: number };
}

export type Add = (
  by: Move["by"],
  says: string,
  change: (next: World) => string | undefined,
) => void;
