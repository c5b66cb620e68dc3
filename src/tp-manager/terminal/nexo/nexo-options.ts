import type { NexoKey } from "../../../nexo/index.ts";
import type { AlarmLog } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { TerminalAddress } from "./https-post.ts";

/** The driver's settings. */
export interface NexoOptions {
  readonly address: TerminalAddress;
  readonly saleId: string;
  readonly poiId: string;
  /** The key that register and terminal share; null: messages go in clear, for a test terminal. */
  readonly key: NexoKey | null;
  /** The longest time from a payment request to its answer (docs/nexo.md 4.3). */
  readonly paymentLimitMs: number;
  /** How long a sale waits for a terminal that is busy with something else. */
  readonly busyWaitMs: number;
  /** The pause between two questions of an idle driver whether the terminal answers. */
  readonly pollMs: number;
  /** That pause while the terminal does not answer. */
  readonly reconnectMs: number;
  /** Where the terminal's notifications are received; missing: nowhere, so there are no prompts. */
  readonly notifyPort?: number | undefined;
  readonly notifyFiles?: readonly string[];
  /** How long a sender may take for a notification; missing: 5 s. */
  readonly notifyMs?: number;
}

export interface NexoContext {
  readonly options: NexoOptions;
  readonly clock: Clock;
  readonly log: AlarmLog;
}
