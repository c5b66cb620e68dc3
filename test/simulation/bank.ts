/** One movement at the terminal's bank, whatever anybody believes of it. */
interface Movement {
  readonly kind: "charge" | "reversal";
  /** Counts the financial commands of all terminals; the one that charged. */
  readonly sale: number;
  readonly order: string;
  readonly amountMinor: number;
  readonly atMs: number;
  /** The register asked for this return. */
  readonly asked: boolean;
}

/** The truth about the money: who was charged and who got it back. */
export class Bank {
  readonly movements: Movement[] = [];
  /** When each financial command reached a terminal. */
  readonly startedAtMs = new Map<number, number>();
  #sales = 0;

  begin(atMs: number): number {
    this.startedAtMs.set(++this.#sales, atMs);
    return this.#sales;
  }

  enter(movement: Movement): void {
    this.movements.push(movement);
  }

  /** Minor units of an order that are charged now, of commands that began up to `untilMs`. */
  balance(order: string, untilMs = Number.POSITIVE_INFINITY): number {
    return this.movements
      .filter((each) => each.order === order)
      .filter(({ sale }) => (this.startedAtMs.get(sale) ?? 0) <= untilMs)
      .reduce((sum, { kind, amountMinor }) => sum + (kind === "charge" ? 1 : -1) * amountMinor, 0);
  }

  orderOf(sale: number): string | undefined {
    return this.movements.find((each) => each.sale === sale)?.order;
  }

  balanceOfSale(sale: number): number {
    return this.movements
      .filter((each) => each.sale === sale)
      .reduce((sum, { kind, amountMinor }) => sum + (kind === "charge" ? 1 : -1) * amountMinor, 0);
  }
}
