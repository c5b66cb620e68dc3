import { z } from "zod";
import { operationNames } from "./soap/services.ts";

/** The faults that the sandbox can play, with their text in `--help`. */
export const faultKinds = {
  latency: "answers after delayMs",
  "hang-before-commit": "never answers, nothing is stored",
  "hang-after-commit": "never answers, the request was carried out",
  "reset-before-commit": "resets the connection, nothing is stored",
  "reset-after-commit": "resets the connection, the request was carried out",
  "error-500": "HTTP 500 with a SOAP fault, nothing is stored",
  "error-500-empty": "HTTP 500 without a body, nothing is stored",
  "unavailable-503": "HTTP 503 with Retry-After (retryAfter seconds), nothing is stored",
  "not-found-404": "HTTP 404, nothing is stored",
  "malformed-xml": "HTTP 200 with broken XML, the request was carried out",
  "wrong-code": "result with another code (code), nothing is stored",
  "wrong-id": "the result names another transaction, the request was carried out",
  "wrong-amount": "the result names another amount, the request was carried out",
  "wrong-currency": "the result names another currency, the request was carried out",
  "answer-twice": "the result stands twice in the answer, the request was carried out",
  "lookup-refused": "lookups answer HTTP status (404)",
  "lookup-plural-refused": "lookups answer HTTP status (404) at the plural addresses",
  "notification-twice": "every notification is sent twice",
  "notification-reversed": "capture is notified before authorization",
  "notification-delayed": "notifications are sent after delayMs",
  "notification-bad-digest": "notifications are signed with another password",
  "notification-before-answer": "notifications are sent before the SOAP answer",
  "notification-waiting": "operations are notified with status waiting first",
  "capture-nok": "captures fail: notified nok, the order stays as it was",
  "refund-nok": "refunds are answered with code 0 and fail: notified nok",
  "cancellation-nok": "cancellations are answered with code 0 and fail: notified nok",
} as const;

export type FaultKind = keyof typeof faultKinds;

export const faultSchema = z.strictObject({
  kind: z.enum(Object.keys(faultKinds) as [FaultKind, ...FaultKind[]]),
  /** How many requests, operations or events it strikes; missing: all until it is cleared. */
  times: z.int().min(1).optional(),
  /** Strikes only SOAP requests of this operation; missing: of all operations. */
  operation: z.enum(operationNames as [string, ...string[]]).optional(),
  /** Strikes only SOAP requests that name this order, so that no other order uses it up. */
  merchantReference: z.string().optional(),
  /** For latency and notification-delayed. */
  delayMs: z.int().min(0).max(3_600_000).default(1_000),
  /** For unavailable-503, in seconds. */
  retryAfter: z.int().min(0).default(30),
  /** For wrong-code. */
  code: z.int().min(1).default(9),
  /** For lookup-refused and lookup-plural-refused. */
  status: z.int().min(400).max(599).default(404),
  /** Whether the request is carried out; missing: as the kind has it. */
  commit: z.boolean().optional(),
});

export type Fault = z.infer<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;

/** Kinds that answer a wrong result for a request that was carried out. */
const lies: readonly FaultKind[] = [
  "malformed-xml",
  "wrong-id",
  "wrong-amount",
  "wrong-currency",
  "answer-twice",
];

/** Whether the request is carried out before the fault strikes. */
export function strikesAfterCommit({ kind, commit }: Fault): boolean {
  if (kind === "hang-before-commit" || kind === "reset-before-commit") return false;
  if (kind === "hang-after-commit" || kind === "reset-after-commit") return true;
  return commit ?? lies.includes(kind);
}

/** Reads `kind` or `kind:name=value,name=value`, the form of `--fault`. */
export function parseFault(text: string): Fault {
  const [kind, ...rest] = text.split(":");
  const settings = rest
    .join(":")
    .split(",")
    .filter((part) => part !== "");
  const given = settings.map((part): [string, unknown] => {
    const [name = "", value = ""] = part.split("=", 2);
    return [name, name === "merchantReference" ? value : settingValue(value)];
  });
  return faultSchema.parse({ kind, ...Object.fromEntries(given) });
}

function settingValue(text: string): string | number | boolean {
  if (/^\d+$/.test(text)) return Number(text);
  return text === "true" || text === "false" ? text === "true" : text;
}

/** The effect of the faults on one request. */
interface Plan {
  readonly latencyMs: number;
  readonly strike: Fault | undefined;
}

/** The faults in force. Latencies add up; of the others the oldest strikes. */
export class FaultList {
  #faults: Fault[];

  constructor(faults: readonly Fault[] = []) {
    this.#faults = [...faults];
  }

  get all(): readonly Fault[] {
    return this.#faults;
  }

  add(...faults: readonly Fault[]): void {
    this.#faults.push(...faults);
  }

  clear(): void {
    this.#faults = [];
  }

  /** Returns what strikes a request, and counts it down. */
  take(operation: string, merchantReference: string): Plan {
    const mine = this.#faults.filter(
      (fault) =>
        !/^(notification|lookup)-/.test(fault.kind) &&
        (fault.operation ?? operation) === operation &&
        (fault.merchantReference ?? merchantReference) === merchantReference,
    );
    const latencies = mine.filter(({ kind }) => kind === "latency");
    const strike = mine.find(({ kind }) => kind !== "latency" && !kind.endsWith("-nok"));
    this.#use(strike ? [...latencies, strike] : latencies);
    return { latencyMs: latencies.reduce((sum, { delayMs }) => sum + delayMs, 0), strike };
  }

  /** Returns the faults that strike the notifications of one event, and counts them down. */
  takeForNotification(): readonly Fault[] {
    const mine = this.#faults.filter(({ kind }) => kind.startsWith("notification-"));
    this.#use(mine);
    return mine;
  }

  /** Returns the HTTP status that refuses a lookup, and counts down; undefined: no fault. */
  takeForLookup(plural: boolean): number | undefined {
    const mine = this.#faults.find(
      ({ kind }) => kind === "lookup-refused" || (plural && kind === "lookup-plural-refused"),
    );
    if (mine) this.#use([mine]);
    return mine?.status;
  }

  inForce(kind: FaultKind): boolean {
    return this.#faults.some((fault) => fault.kind === kind);
  }

  /** Returns whether a fault lets an operation of this type fail, and counts it down. */
  takeForOperation(type: string): boolean {
    const mine = this.#faults.find(({ kind }) => kind === `${type}-nok`);
    if (mine) this.#use([mine]);
    return mine !== undefined;
  }

  #use(used: readonly Fault[]): void {
    this.#faults = this.#faults.flatMap((fault) =>
      used.includes(fault) ? countDown(fault) : [fault],
    );
  }
}

function countDown(fault: Fault): Fault[] {
  if (fault.times === undefined) return [fault];
  return fault.times > 1 ? [{ ...fault, times: fault.times - 1 }] : [];
}
