import type { Fault, FaultKind } from "./fault.ts";

/** The fate of a request: how long it waits, and the fault that strikes it, if any. */
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

  /** Takes what applies to a request of this operation, counting down what is limited. */
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

  /** Takes what applies to the notifications of one event. */
  takeForNotification(): readonly Fault[] {
    const mine = this.#faults.filter(({ kind }) => kind.startsWith("notification-"));
    this.#use(mine);
    return mine;
  }

  /** The status that a lookup at this address is refused with; undefined: it is answered. */
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

  /** Whether an operation of this type fails. */
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
