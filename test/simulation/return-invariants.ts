import { isReversed, REVERSAL_BEGINS } from "../../src/tp-manager/attempts/payment.ts";
import type { End } from "./end.ts";
import { isStoreHarm } from "./plan.ts";
import type { World } from "./world.ts";

/** A notification of a return can be lost with a database; the gateway does not send it again. */
function returned({ world, plan, orders }: End): readonly string[] {
  const { account } = world.gateway;
  if (!account || plan.steps.some(isStoreHarm)) return [];
  return orders.filter((order) => account.returnsOf(order).length > 0 && account.isReported(order));
}

/** Checks money that went back at the gateway and was notified; an open return is left out. */
export function untoldReturns(end: End): string[] {
  const { world, found } = end;
  return returned(end).flatMap((order) => {
    const attempt = world.tpManager?.journal.attempts.decisive(order);
    if (attempt?.openReturn) return [];
    if (!attempt?.returnedSome) return [`${order}: money went back, and nothing is noted`];
    const status = found.get(order)?.status ?? "";
    const isWhole = world.gateway.account?.whollyReturnedMs(order) !== undefined;
    const isClear = !(world.supervisor?.store.attempts(attempt.transactionId) ?? []).some(
      ({ ambiguous }) => ambiguous,
    );
    const isTrue = isWhole ? !isClear || ["Reversed", "Unknown"].includes(status) : true;
    return isTrue ? [] : [`${order}: all of it went back, and it is answered as ${status}`];
  });
}

/** A finished order is finished for ever (docs/rules/08-finished.md). */
export function chargedAfterReturn({ world, orders }: End): string[] {
  return orders
    .filter((order) => !world.unknowable.has(order) && !world.isHidden(order))
    .filter((order) => {
      const [firstMs = Number.POSITIVE_INFINITY] = world.gateway.account?.returnsOf(order) ?? [];
      return world.bank.movements.some(
        (each) => each.order === order && each.kind === "charge" && each.atMs > firstMs,
      );
    })
    .map((order) => `${order} was charged after its money had gone back at the gateway`);
}

/** As the journal's steps have it, and as the kiosk has heard it. */
export function reversedAfterReturn(end: End): string[] {
  const { world, plan, orders } = end;
  if (!world.gateway.account) return [];
  const attempts = world.tpManager?.journal.attempts;
  const begun = orders.flatMap((order) =>
    (attempts?.ofOrder(order) ?? [])
      .filter(({ transactionId }) => beginsAfterReturn(attempts?.events(transactionId) ?? []))
      .map(() => `${order}: a reversal began although a return at the gateway was known or open`),
  );
  if (plan.steps.some(isStoreHarm)) return begun;
  const heard = world.kiosk.answers
    .filter(({ call, http }) => /^gateway-(cancel|refund)$/.test(call) && http === 200)
    .filter(({ order, atMs }) => terminalReturns(world, order).some((each) => each.atMs > atMs))
    .map(({ order, call }) => `${order}: reversed at the terminal after a ${call} that was done`);
  return [...begun, ...heard];
}

interface Step {
  readonly kind: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

function beginsAfterReturn(steps: readonly Step[]): boolean {
  let isOpen = false;
  let isKnown = false;
  return steps.some(({ kind, detail }) => {
    if (kind === "gateway-return-reserved") isOpen = true;
    if (kind === "gateway-return-ended") isOpen = false;
    if (kind === "gateway-return-ended" && detail["state"] === "done") isKnown = true;
    if (kind === "gateway-return-notified") isKnown = true;
    return kind === REVERSAL_BEGINS && (isOpen || isKnown);
  });
}

function terminalReturns({ bank }: World, order: string): World["bank"]["movements"] {
  return bank.movements.filter((each) => each.order === order && each.asked);
}

/** The terminal has reversed the sale for certain, and the gateway has notified a return. */
export function untoldTwice(end: End): string[] {
  const { world } = end;
  return returned(end)
    .filter((order) => {
      const attempt = world.tpManager?.journal.attempts.decisive(order);
      return attempt && isReversed(attempt.state) && terminalReturns(world, order).length > 0;
    })
    .filter((order) => {
      const isAlarm = (line: string): boolean =>
        line.includes('"returned-twice"') && line.includes(`"orderId":"${order}"`);
      return !world.log.lines.some(isAlarm);
    })
    .map((order) => `${order}: its money went back both ways, and no alarm was raised`);
}
