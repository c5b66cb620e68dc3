import type { OneWayScope } from "./one-way-world.ts";

const none = { asks: 1, losses: 0, crashes: 0, odd: 0, unmatched: 0 } as const;
const one = { A: 999 } as const;
const two = { A: 999, B: 500 } as const;
const same = { A: 999, B: 999 } as const;
const kinds = [
  { name: "one that names orders", echoes: true, isBare: false },
  { name: "one that names nothing", echoes: false, isBare: false },
  { name: "one with a connection for each payment", echoes: true, isBare: true },
] as const;

/** One order asked for twice; two orders of two amounts, and of one: every fault at every place. */
export const oneWayScopes: readonly OneWayScope[] = kinds
  .flatMap((kind) => [
    {
      ...none,
      ...kind,
      name: `${kind.name}, one order`,
      orders: one,
      asks: 2,
      losses: 2,
      crashes: 1,
      odd: 1,
    },
    {
      ...none,
      ...kind,
      name: `${kind.name}, two orders`,
      orders: two,
      losses: 1,
      crashes: 1,
      odd: 1,
      unmatched: 1,
    },
  ])
  .concat(
    kinds.map((kind) => ({
      ...none,
      ...kind,
      name: `${kind.name}, two orders of one amount`,
      orders: same,
      losses: 1,
      crashes: 1,
    })),
  );

/** A part of it that every run of the tests can afford. */
export const oneWayReduced: readonly OneWayScope[] = kinds.flatMap((kind) => [
  {
    ...none,
    ...kind,
    name: `${kind.name}, one order`,
    orders: one,
    asks: 2,
    losses: 1,
    crashes: 1,
    odd: 1,
  },
  {
    ...none,
    ...kind,
    name: `${kind.name}, two orders`,
    orders: two,
    losses: 1,
    crashes: 1,
  },
  {
    ...none,
    ...kind,
    name: `${kind.name}, two orders of one amount`,
    orders: same,
    losses: 1,
  },
]);
