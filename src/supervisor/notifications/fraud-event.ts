import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { parseJson } from "../../shared/json.ts";
import { orderIdOf, transactionSchema } from "../gateway/lookup.ts";
import { type Refusal, refusal } from "./notification-tally.ts";

/** The header with the signature of a fraud event (docs/gateway.md 4.2). */
export const SIGNATURE_HEADER = "x-allopass-signature";
const FRAUD_EVENT_KEY = "operation.fraud_reported_by_acquirer";

const operationSchema = z.looseObject({
  type: z.string().optional(),
  amount: z.string().optional(),
  currency: z.string().optional(),
  date_fraud_by_acquirer: z.string().nullish(),
});
const dataSchema = transactionSchema
  .omit({ captured_amount: true, refunded_amount: true })
  .extend({ operations: z.array(operationSchema), fraud_reported_by_acquirer: z.literal(true) });
const eventSchema = z.looseObject({ event_key: z.literal(FRAUD_EVENT_KEY), data: dataSchema });

export type FraudEvent = Exclude<ReturnType<typeof readFraudEvent>, Refusal>["event"];

/**
 * Verifies and reads a fraud event. The signature is the hex digest of the raw body followed by the
 * passphrase, by SHA-256 or SHA-512; SHA-1, which the platform offers too, is refused. The event is
 * read with and without its wrapper: the documentation shows both. Pure, never throws.
 */
export function readFraudEvent(body: Buffer, signature: string | undefined, secret: string) {
  if (!isSigned(body, signature ?? "", secret))
    return refusal("wrong-signature", "wrong signature");
  const json = parseJson(body.toString("utf8"));
  const wrapped = eventSchema.safeParse(json);
  const data = wrapped.success ? wrapped.data.data : dataSchema.safeParse(json).data;
  if (!data) return refusal("unreadable", "not a fraud event");
  return {
    genuine: true as const,
    event: {
      orderId: orderIdOf(data),
      // The amount is a decimal text in major units.
      amount: data.amount ?? null,
      currency: data.currency ?? null,
      body: json as Record<string, unknown>,
      fingerprint: createHash("sha256").update(body).digest("hex"),
    },
  };
}

const algorithms: Readonly<Record<number, string>> = { 64: "sha256", 128: "sha512" };

function isSigned(body: Buffer, signature: string, secret: string): boolean {
  const algorithm = algorithms[signature.length];
  if (algorithm === undefined || !/^[0-9A-Fa-f]+$/.test(signature)) return false;
  const expected = createHash(algorithm).update(body).update(secret, "utf8").digest();
  return timingSafeEqual(expected, Buffer.from(signature, "hex"));
}
