import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { parseJson } from "../../shared/json.ts";

/** The header of the platform's signature rule (docs/gateway.md 4.2). */
export const SIGNATURE_HEADER = "x-allopass-signature";
const FRAUD_EVENT_KEY = "operation.fraud_reported_by_acquirer";

/** One operation of the event, kept as it came. */
const operationSchema = z.looseObject({
  type: z.string().optional(),
  amount: z.string().optional(),
  currency: z.string().optional(),
  date_fraud_by_acquirer: z.string().nullish(),
});
const dataSchema = z.looseObject({
  id: z.int(),
  merchant_order_id: z.string().optional(),
  order: z.looseObject({ id: z.union([z.string(), z.int()]).optional() }).nullish(),
  amount: z.string().optional(),
  currency: z.string().optional(),
  operations: z.array(operationSchema),
  fraud_reported_by_acquirer: z.literal(true),
});
const eventSchema = z.looseObject({ event_key: z.literal(FRAUD_EVENT_KEY), data: dataSchema });

export interface FraudEvent {
  readonly orderId: string | null;
  /** Decimal text in major units, as it came. */
  readonly amount: string | null;
  readonly currency: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  readonly fingerprint: string;
}

type FraudVerdict =
  | { readonly genuine: true; readonly event: FraudEvent }
  | { readonly genuine: false; readonly why: string };

/**
 * Checks and reads one fraud event. The signature is the hex digest of the raw body followed by the
 * passphrase: SHA-256 by default, SHA-512 by setting; the SHA-1 that the platform also offers is
 * not taken. The documentation shows the transaction alone and describes a wrapper in prose: both
 * forms are read. Pure, never throws.
 */
export function readFraudEvent(
  body: Buffer,
  signature: string | undefined,
  secret: string,
): FraudVerdict {
  if (!isSigned(body, signature ?? "", secret)) return { genuine: false, why: "wrong signature" };
  const json = parseJson(body.toString("utf8"));
  const wrapped = eventSchema.safeParse(json);
  const data = wrapped.success ? wrapped.data.data : dataSchema.safeParse(json).data;
  if (!data) return { genuine: false, why: "not a fraud event" };
  const order = data.order?.id;
  return {
    genuine: true,
    event: {
      orderId: data.merchant_order_id ?? (order === undefined ? null : String(order)),
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
