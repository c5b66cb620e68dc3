/** docs/zvt.md 11.6, decimal: field 8A, and tag 41 above 255. 46 is Maestro, not V PAY. */
const names: ReadonlyMap<number, string> = new Map([
  [2, "ec"],
  [5, "girocard"],
  [6, "Mastercard"],
  [7, "EAPS"],
  [8, "American Express"],
  [9, "Lastschrift"],
  [10, "Visa"],
  [11, "Visa Electron"],
  [12, "Diners"],
  [13, "V PAY"],
  [14, "JCB"],
  [30, "Geldkarte"],
  [46, "Maestro"],
  [69, "Postfinance"],
  [79, "Yapital"],
  [87, "Bancontact"],
  [97, "Alipay"],
  [107, "Alipay"],
  [111, "instant payment"],
  [160, "AVIA"],
  [196, "Dankort"],
  [197, "Dankort"],
  [198, "UnionPay"],
  [200, "Payback"],
  [202, "Payback"],
  [232, "Discover"],
  [256, "MIFARE"],
  [260, "BlueCode"],
]);

/** Field 8A says FF when the number does not fit and stands in tag 41 (docs/zvt.md 7.1). */
const SEE_TAG_41 = 0xff;

export function cardTypeName(
  cardType: number | undefined,
  tag41: number | undefined,
): string | undefined {
  const number = cardType === undefined || cardType === SEE_TAG_41 ? tag41 : cardType;
  return number === undefined ? undefined : names.get(number);
}
