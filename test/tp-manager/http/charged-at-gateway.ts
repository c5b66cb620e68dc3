import { onTestFinished } from "vitest";
import { startGatewaySandbox } from "../../../src/simulator/gateway/sandbox.ts";
import { PASSWORD } from "../../supervisor/supervisor-rig.ts";
import { pay, request } from "../../support/house/payment-house.ts";
import { apiWithSupervisor } from "./api-with-supervisor.ts";

export const operator = { login: "operator", password: "maintenance" };

/**
 * A charged order of 9.99 that the sandbox has, captured unless `autoPay` is false. With `lost` the
 * answer of the first try is lost and lookups are refused, so that the order is sent again.
 */
export async function chargedAtGateway(
  options: { autoPay?: boolean; lost?: "before-commit" | "after-commit" } = {},
) {
  const sandbox = await startGatewaySandbox({
    accounts: [
      {
        login: "login",
        password: PASSWORD,
        apiKey: "lookup key",
        websites: [{ id: 107, currency: "EUR", categories: [{ id: 5, label: "Vending" }] }],
      },
    ],
    database: ":memory:",
    autoPay: options.autoPay ?? true,
  });
  onTestFinished(() => sandbox.close());
  const api = await apiWithSupervisor({ url: sandbox.url, operator });
  if (options.lost) sandbox.addFault({ kind: `reset-${options.lost}`, times: 1 });
  api.at.terminal.remembers = true;
  await pay(api.at, request("A-1"));
  const [transaction] = api.at.supervisor.stored;
  if (!transaction) throw new Error("the order was not handed off");
  api.rig.intake.store(transaction);
  await api.rig.tries(transaction.transactionId, 1);
  if (options.lost) {
    sandbox.addFault({ kind: "lookup-refused" });
    api.rig.forwarder.start();
    const { store } = api.rig;
    const sent = () => store.delivery(transaction.transactionId)?.state === "sent";
    await api.rig.advanceInSteps(20_000, sent);
    await fetch(`${sandbox.url}/sandbox/faults`, { method: "DELETE" });
  }
  const publicId = (): string => sandbox.orders()[0]?.transactionPublicId ?? "";
  return { ...api, sandbox, publicId, transactionId: transaction.transactionId };
}

/** State and refunded amount of every order of the sandbox. */
export const stateOf = ({ sandbox }: Awaited<ReturnType<typeof chargedAtGateway>>) =>
  sandbox.orders().map(({ state, refundedAmount }) => [state, refundedAmount]);
