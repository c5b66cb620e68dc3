import { z } from "zod";
import { operationNames } from "./soap/services.ts";
import texts from "./texts.json" with { type: "json" };

/** The faults that the sandbox can play, with their text in `--help`. */
export const faultKinds = texts.faults;

export type FaultKind = keyof typeof faultKinds;

export const faultSchema = z.strictObject({
  kind: z.enum(Object.keys(faultKinds) as [FaultKind, ...FaultKind[]]),
  /** How many requests, operations or events the fault strikes; missing: all of them. */
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
    const refusing = plural ? ["lookup-refused", "lookup-plural-refused"] : ["lookup-refused"];
    return this.#oldest(refusing)?.status;
  }

  inForce(kind: FaultKind): boolean {
    return this.#faults.some((fault) => fault.kind === kind);
  }

  /** Returns whether a fault lets an operation of this type fail, and counts it down. */
  takeForOperation(type: string): boolean {
    return this.#oldest([`${type}-nok`]) !== undefined;
  }

  #oldest(kinds: readonly string[]): Fault | undefined {
    const found = this.#faults.find(({ kind }) => kinds.includes(kind));
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
