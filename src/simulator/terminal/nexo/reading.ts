import type { NexoMessage } from "../../../nexo/index.ts";
import { maskPansInText } from "../../../shared/masking/mask.ts";
import type { TraceEntry, TraceField } from "../trace-log.ts";

/** Returns a message for the trace, without card data. */
export function traceOf({ header, name, body }: NexoMessage): Partial<TraceEntry> {
  const { Response: response } = body as { Response?: Readonly<Record<string, string>> };
  const says = [response?.["Result"], response?.["ErrorCondition"]].filter(Boolean).join(", ");
  const fields = fieldsOf(body);
  return {
    message: name,
    ...(says === "" ? {} : { says }),
    fields: [...fieldsOf(header), ...fields],
    text: fields.map((field) => `${field.name}=${field.value}`).join(" | "),
  };
}

/** Members that are card data, or too long for a line. */
const hidden = new Set(["SensitiveCardData", "PaymentReceipt", "RejectedMessage"]);

function fieldsOf(value: unknown, path = ""): readonly TraceField[] {
  if (typeof value !== "object" || value === null) {
    return [{ name: path, value: maskPansInText(String(value)) }];
  }
  return Object.entries(value).flatMap(([name, one]) => {
    const here = path === "" ? name : `${path}.${name}`;
    return hidden.has(name) ? [{ name: here, value: "…" }] : fieldsOf(one, here);
  });
}
