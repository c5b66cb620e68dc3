import type { TpManagerTroubles } from "../../../shared/troubles.ts";
import type { AnswerStore } from "../../attempts/answer-store.ts";
import type { HandOff } from "../../supervisor/hand-off.ts";

export interface OwnTroubleParts {
  readonly handOff: Pick<HandOff, "trouble">;
  readonly answers: Pick<AnswerStore, "unreadCharges">;
}

/** tp-manager's part of what the table of troubles asks. Throws when the journal cannot be read. */
export function ownTroubles({ handOff, answers }: OwnTroubleParts): TpManagerTroubles {
  return { handOver: handOff.trouble, unreadCharges: answers.unreadCharges() };
}
