import { ByteReader, concat, decodeBcd, encodeBcd, fromHex, toHex } from "./bytes.ts";
import { ZvtCodecError } from "./errors.ts";

/** The order of the seven groups in field 60 (docs/zvt.md 7.1). */
export const totalsGroups = [
  "girocard",
  "jcb",
  "mastercard",
  "amex",
  "visa",
  "diners",
  "other",
] as const;

export interface Totals {
  readonly receiptFrom: string;
  readonly receiptTo: string;
  readonly groups: readonly {
    readonly group: (typeof totalsGroups)[number];
    readonly count: number;
    readonly amount: number;
  }[];
}

export function decodeTotals(content: Uint8Array): Totals {
  const reader = new ByteReader(content);
  const receiptFrom = toHex(reader.take(2));
  const receiptTo = toHex(reader.take(2));
  const groups = totalsGroups.map((group) => ({
    group,
    count: reader.byte(),
    amount: decodeBcd(reader.take(6)),
  }));
  if (reader.left > 0) throw new ZvtCodecError("trailing-bytes", "totals longer than 53 bytes");
  return { receiptFrom, receiptTo, groups };
}

/** Groups that are not named count as zero. */
export function encodeTotals({ receiptFrom, receiptTo, groups }: Totals): Uint8Array {
  return concat([
    fromHex(receiptFrom.padStart(4, "0")),
    fromHex(receiptTo.padStart(4, "0")),
    ...totalsGroups.flatMap((group) => {
      const { count = 0, amount = 0 } = groups.find((entry) => entry.group === group) ?? {};
      return [Uint8Array.of(count), encodeBcd(amount, 6)];
    }),
  ]);
}
