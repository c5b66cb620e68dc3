import type { ResponseOf, supervisorMessages } from "../../../shared/ipc/contract.ts";
import { isoTime } from "../../../shared/time.ts";

/** How the installation stands with its updates; times as every answer writes them. */
export interface Updates {
  readonly asked: boolean;
  readonly channel: string;
  readonly lastCheckAt: string | null;
  readonly lastError: string | null;
  /** Metadata were verified as fresh for the last time, and the first of them expires. */
  readonly metadataAt: string | null;
  readonly metadataExpireAt: string | null;
  readonly ready: string | null;
  readonly heldBy: string | null;
  readonly heldSince: string | null;
  /** null with a `heldBy`: until somebody ends it. */
  readonly heldUntil: string | null;
}

/** null: the supervisor does not tell; a checkout of the sources has no updates. */
export function updatesOf(
  supervisor: ResponseOf<typeof supervisorMessages, "status"> | null,
): Updates | null {
  if (!supervisor?.updates) return null;
  const { asks, channel, checkedMs, fault, freshMs, expiresMs, ...others } = supervisor.updates;
  const { ready, heldBy, heldSinceMs = null, heldUntilMs = null } = others;
  return {
    asked: asks,
    channel,
    lastCheckAt: isoTime(checkedMs),
    lastError: fault,
    metadataAt: isoTime(freshMs),
    metadataExpireAt: isoTime(expiresMs),
    ready,
    heldBy,
    heldSince: isoTime(heldSinceMs),
    heldUntil: isoTime(heldUntilMs),
  };
}
