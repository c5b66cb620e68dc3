import type { BrokerSettings, Outgoing, Sent } from "./broker.ts";
import type { LostBecause } from "./reconnect-policy.ts";

/* Words between the supervisor and the thread with its connection (docs/fleet.md 4.3). */

/** Given to the thread at its start. */
export interface ThreadTask {
  readonly settings: BrokerSettings;
  readonly will: Outgoing;
}

export type ToThread =
  | { readonly say: "send"; readonly id: number; readonly message: Outgoing }
  | { readonly say: "close" }
  /** To be answered: the thread lives. */
  | { readonly say: "alive" };

export type FromThread =
  | { readonly say: "connected"; readonly window: number }
  | { readonly say: "failed"; readonly words: string }
  | { readonly say: "sent"; readonly id: number; readonly sent: Sent }
  | { readonly say: "received"; readonly payload: Uint8Array; readonly retained: boolean }
  | { readonly say: "lost"; readonly because: LostBecause; readonly words: string }
  | { readonly say: "closed" }
  | { readonly say: "alive" };
