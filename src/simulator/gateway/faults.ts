import { z } from "zod";
import type { Order } from "./orders/order.ts";
import { operationNames } from "./soap/services.ts";
import texts from "./texts.json" with { type: "json" };

/** The faults that the sandbox can simulate; their descriptions appear in `--help`. */
export const faultKinds = texts.faults;

type FaultKind = keyof typeof faultKinds;

const settingsSchema = z.strictObject({
  kind: z.enum(Object.keys(faultKinds) as [FaultKind, ...FaultKind[]]),
  /** The number of requests, operations or events that the fault strikes; missing: no limit. */
  times: z.int().min(1).optional(),
  /** The SOAP operation that the fault strikes; missing: any operation. */
  operation: z.enum(operationNames as [string, ...string[]]).optional(),
  /** The order, by its merchant reference, that the fault strikes; missing: any order. */
  merchantReference: z.string().optional(),
  /** The delay of the faults latency and notification-delayed, in milliseconds. */
  delayMs: z.int().min(0).max(3_600_000).default(1_000),
  /** The value of Retry-After for unavailable-503, in seconds. */
  retryAfter: z.int().min(0).default(30),
  /** The result code that the fault wrong-code puts into the answer. */
  code: z.int().min(1).default(9),
  /** The HTTP status that the faults lookup-refused and lookup-plural-refused answer. */
  status: z.int().min(400).max(599).default(404),
  /** Whether the request is carried out before the fault strikes; missing: decided by `kind`. */
  commit: z.boolean().optional(),
});

export const faultSchema = settingsSchema.refine(
  ({ kind, merchantReference }) => merchantReference === undefined || !kind.startsWith("lookup-"),
  { path: ["merchantReference"], error: "a fault of lookups names no order" },
);

export type Fault = z.infer<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;

/** The kinds of faults that strike after the request is carried out unless `commit` is set. */
const afterCommit: readonly FaultKind[] = [
  "hang-after-commit",
  "reset-after-commit",
  "malformed-xml",
  "wrong-id",
  "wrong-amount",
  "wrong-currency",
  "answer-twice",
];

export function strikesAfterCommit({ kind, commit }: Fault): boolean {
  const isFixed = kind.endsWith("-commit");
  return (isFixed ? undefined : commit) ?? afterCommit.includes(kind);
}

/** Reads the value of `--fault`: `kind` or `kind:name=value,name=value`. */
export function parseFault(text: string): Fault {
  const [kind, ...rest] = text.split(":");
  const settings = rest.join(":").split(",").filter(Boolean);
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

function strikesOrder(fault: Fault, merchantReference: string): boolean {
  return (fault.merchantReference ?? merchantReference) === merchantReference;
}

/** The armed faults of the sandbox, oldest first. */
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

  /**
   * Returns the total delay of a request, and the oldest other fault that strikes the request. One
   * strike of each of these faults is used up.
   */
  take(operation: string, merchantReference: string) {
    const mine = this.#faults.filter(
      (fault) =>
        !/^(notification|lookup)-/.test(fault.kind) &&
        (fault.operation ?? operation) === operation &&
        strikesOrder(fault, merchantReference),
    );
    const latencies = mine.filter(({ kind }) => kind === "latency");
    const strike = mine.find(({ kind }) => kind !== "latency" && !kind.endsWith("-nok"));
    this.#use(strike ? [...latencies, strike] : latencies);
    return { latencyMs: latencies.reduce((sum, { delayMs }) => sum + delayMs, 0), strike };
  }

  /** Returns the faults for the notifications of one event, and uses up one strike of each. */
  takeForNotification({ merchantReference }: Order): readonly Fault[] {
    const mine = this.#faults.filter(
      (fault) => fault.kind.startsWith("notification-") && strikesOrder(fault, merchantReference),
    );
    this.#use(mine);
    return mine;
  }

  /** Returns the HTTP status with which a fault refuses a lookup, and uses up one strike. */
  takeForLookup(plural: boolean): number | undefined {
    const refusing = plural ? ["lookup-refused", "lookup-plural-refused"] : ["lookup-refused"];
    return this.#oldest(({ kind }) => refusing.includes(kind))?.status;
  }

  inForce(kind: FaultKind, merchantReference: string): boolean {
    return this.#faults.some(
      (fault) => fault.kind === kind && strikesOrder(fault, merchantReference),
    );
  }

  /** Returns whether a fault makes this operation fail, and uses up one of its strikes. */
  takeForOperation(type: string, { merchantReference }: Order): boolean {
    const fails = (fault: Fault): boolean =>
      fault.kind === `${type}-nok` && strikesOrder(fault, merchantReference);
    return this.#oldest(fails) !== undefined;
  }

  #oldest(strikes: (fault: Fault) => boolean): Fault | undefined {
    const found = this.#faults.find(strikes);
    if (found) this.#use([found]);
    return found;
  }

  #use(used: readonly Fault[]): void {
    this.#faults = this.#faults.flatMap((fault) => {
      if (!used.includes(fault) || fault.times === undefined) return [fault];
      return fault.times > 1 ? [{ ...fault, times: fault.times - 1 }] : [];
    });
  }
}
