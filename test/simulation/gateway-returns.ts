import type { TestClock } from "../support/clocks/test-clock.ts";
import { DiskFailure } from "./disk.ts";
import type { Kiosk } from "./kiosk.ts";
import { MerchantAccount } from "./merchant-account.ts";
import { type Action, type GatewayReturn, isGatewayReturn, type Plan } from "./plan.ts";
import type { Supervisor, TpManager } from "./processes.ts";

/** The part of a simulated world in which money goes back by way of the gateway. */
interface Returning {
  readonly clock: TestClock;
  readonly kiosk: Kiosk;
  readonly struck: Set<string>;
  readonly tpManager: TpManager | undefined;
  readonly supervisor: Supervisor | undefined;
  fell(error: unknown): void;
  act(action: Action): void;
}

/** The account of a plan in which money goes back; undefined: none of its steps asks for that. */
export function accountOf(world: Returning, { steps }: Plan): MerchantAccount | undefined {
  if (!steps.some(isGatewayReturn)) return undefined;
  return new MerchantAccount(world.clock, (document) => isTaken(world, document));
}

/** As the notification listener has it: what throws is answered with 500. */
function isTaken(world: Returning, document: string): boolean {
  const { supervisor } = world;
  if (!supervisor) return false;
  try {
    return supervisor.notified.takeOperation(Buffer.from(document), () => true) === "taken";
  } catch (error) {
    if (!(error instanceof DiskFailure)) world.fell(error);
    return false;
  }
}

/** Money goes back a while after the gateway has named the order to us. */
export function giveBack(world: Returning, account: MerchantAccount, action: GatewayReturn): void {
  const { order, by, ms, reversalAfterMs } = action;
  const reverse = (): void => world.act({ do: "reverse", order });
  const work = (): void => {
    if (reversalAfterMs !== null) world.clock.startTimer("reversal", reversalAfterMs, reverse);
    if (by === "kiosk") {
      askFor(world, action);
      return;
    }
    if (account.giveBack(order, action)) struck(world, "gateway-return by the merchant");
  };
  account.whenNamed(order, () => void world.clock.startTimer("gateway return", ms, work));
}

function askFor(world: Returning, { order, how, amountMinor }: GatewayReturn): void {
  const { tpManager } = world;
  if (!tpManager) return;
  struck(world, "gateway-return by the kiosk");
  world.kiosk.ask({ order, call: `gateway-${how}` }, tpManager, async () => {
    const once = { idempotencyKey: `return of ${order}`, asked: how, again: false };
    await tpManager.gateway.ask(how, { orderId: order }, () => amountMinor ?? undefined, once);
    return undefined;
  });
}

function struck(world: Returning, name: string): void {
  world.struck.add(name).add("gateway-return");
}
