import { expect, test } from "vitest";
import { house, pay, request } from "../../support/house/payment-house.ts";

/** Every name that an object answers to, those of its prototypes too. */
function namesOf(object: object): string[] {
  const names = new Set<string>();
  for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const name of Reflect.ownKeys(at)) names.add(String(name));
  }
  return [...names].filter((name) => name !== "constructor").sort();
}

test("what other rooms see of the terminal is no driver, whatever it is cast to", () => {
  const { arbiter } = house();
  expect(namesOf(arbiter.terminal)).toEqual(["capabilities", "state", "subscribe"]);
  expect(Object.isFrozen(arbiter.terminal)).toBe(true);
});

test("what other rooms see of the lease gives nobody the terminal", async () => {
  const at = house();
  const { lease } = at.arbiter;
  const asserts = ["assertFree", "assertNothingInDoubt", "assertWritable"];
  const asked = [...asserts, "current", "lackOf", "stopping", "updating"];
  expect(namesOf(lease)).toEqual([...asked, "close", "whenFree"].sort());
  expect(Object.isFrozen(lease)).toBe(true);

  at.terminal.script = () => new Promise(() => {});
  void pay(at, request("A-1"));
  await at.clock.advance(0);
  const times = { goodsUntilMs: undefined, endsAtMs: at.clock.now() + 180_000 };
  expect(lease.current).toEqual({ what: "payment", orderId: "A-1", ...times });
});

test("what other rooms see of the identity check asks the terminal nothing", () => {
  const { identityCheck } = house().arbiter;
  expect(namesOf(identityCheck)).toEqual(["accept", "replaced"]);
  expect(Object.isFrozen(identityCheck)).toBe(true);
});

test("what other rooms may have done at the terminal takes a lease, or goes to what runs", () => {
  const { commands, running } = house().arbiter;
  expect(namesOf(commands)).toEqual(["pay", "reverse"]);
  expect(namesOf(running)).toEqual(["awaitsGoods", "cancel", "decide", "decideLate"]);
});
