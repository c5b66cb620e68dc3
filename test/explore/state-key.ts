import type { World } from "./world.ts";

/**
 * A short text that two worlds share exactly when they are equal. Records are never changed, only
 * replaced, so each is turned into text once and has a number from then on.
 */
export class StateKeys {
  readonly #numberOf = new WeakMap<object, number>();
  readonly #numbers = new Map<string, number>();

  of({ device, line, disk, ram, kiosk, left }: World): string {
    const { entries, process, ...rest } = device;
    const many = (records: readonly object[]): string =>
      records.map((each) => this.#number(each)).join();
    return [
      many(entries),
      this.#number(process),
      Object.values(rest).join(),
      this.#number(line.message),
      many(disk.attempts),
      many(disk.unmatched),
      many(disk.records),
      disk.closings.join(),
      disk.alarms.join(),
      disk.heardOf.join(),
      ram.run,
      this.#number(ram.baseline),
      many(ram.inquiries),
      Number(ram.isCancelled) + 2 * Number(ram.isLockedOut),
      kiosk.request && kiosk.request.order + kiosk.request.stage,
      Object.values(kiosk.answers).join(),
      Object.values(kiosk.asked).join(),
      Object.values(left).join(),
    ].join("|");
  }

  #number(record: object | null): number {
    if (record === null) return -1;
    const known = this.#numberOf.get(record);
    if (known !== undefined) return known;
    const text = JSON.stringify(record);
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    this.#numberOf.set(record, number);
    return number;
  }
}
