import { z } from "zod";
import { NOTE_CHARACTERS_MAX } from "../../../shared/ipc/contract.ts";
import { maskPansInText } from "../../../shared/masking/mask.ts";
import { ORDER_ID_CHARACTERS_MAX } from "../../../shared/transaction.ts";
import { storage } from "../../attempts/failures.ts";
import { type AcknowledgedKind, acknowledgedKinds } from "../../attempts/findings.ts";
import { note, oneOf } from "../body/input.ts";
import { type AnyCall, type CallContext, call } from "../call.ts";
import { success } from "../envelope.ts";

const ITEMS_MAX = 100;
/** The former name of the kind `unmatched`. */
const FORMER_KIND = "stray";

/** The call by which a person says that something has been dealt with (docs/design.md 8.8). */
export const acknowledgeCalls: readonly AnyCall[] = [
  call({
    path: "/seen",
    role: "operator",
    ordersOf: ordersIn,
    body: z.strictObject({
      kind: oneOf([...acknowledgedKinds, FORMER_KIND]),
      items: z
        .array(note(ORDER_ID_CHARACTERS_MAX), "must be a list of texts")
        .min(1, "must name something")
        .max(ITEMS_MAX, `must be at most ${ITEMS_MAX}`),
      note: note(NOTE_CHARACTERS_MAX),
    }),
    document: ({ done }) => ({
      answer: z.object({ ...done, marked: z.int() }),
      errors: ["CARD_DATA_REFUSED", "STORAGE_FAILED"],
    }),
    handle({ body: { kind: asked, items, note } }, at) {
      const kind = asked === FORMER_KIND ? "unmatched" : asked;
      const marked = items.filter((item) => storage(() => mark(kind, item, note, at), "no")).length;
      const message = `${marked} of ${items.length} waits for nobody any more.`;
      return { ...success, marked, message };
    },
  }),
];

/** The bodies of POST /seen whose items are order ids. */
const aboutOrders = z.object({ kind: z.enum(["charge", "return"]), items: z.array(z.unknown()) });

function ordersIn(body: unknown): string[] {
  const { items = [] } = aboutOrders.safeParse(body).data ?? {};
  return items.filter((item) => typeof item === "string");
}

/** Acknowledges one item; false: it did not wait. An acknowledged charge counts as read. */
function mark(
  kind: AcknowledgedKind,
  item: string,
  note: string,
  { acknowledged, orders, clock }: CallContext,
): boolean {
  const isMarked = acknowledged.mark(kind, item, maskPansInText(note), clock.now());
  if (isMarked && kind === "charge") orders.chargeAnswered(item, true);
  return isMarked;
}
