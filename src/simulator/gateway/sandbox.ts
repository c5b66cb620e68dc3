import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { controlRoutes, ORDERS_LISTED_MAX } from "./control/control-routes.ts";
import { type FaultInput, faultSchema } from "./faults.ts";
import { createApp } from "./http/app.ts";
import { categoryRoutes, lookupRoutes } from "./lookup/lookup-routes.ts";
import { orderView } from "./orders/order.ts";
import { pageRoutes } from "./pages/payment-page.ts";
import { assemble, type SandboxOptions } from "./parts.ts";
import { soapRoutes } from "./soap/soap-routes.ts";

/** Starts a stand-in for the payment gateway, and resolves when the sandbox listens. */
export async function startGatewaySandbox(options: SandboxOptions) {
  const { host = "127.0.0.1", port = 0, tls } = options;
  const closing = new AbortController();
  const toReport = options.report ?? ((error: Error) => console.error(error));
  // Errors that occur because the sandbox closes are not reported.
  const report = (error: Error): void => {
    if (!closing.signal.aborted) toReport(error);
  };
  const parts = assemble(options, closing.signal, report);
  const app = createApp(tls, report);
  for (const routes of allRoutes) routes(app, parts);
  app.addHook("onSend", (request, { raw }, _payload, done) => {
    if (request.method === "POST") afterAnswer(raw, () => parts.sender.kick());
    done();
  });
  const close = async (): Promise<void> => {
    closing.abort(new Error("the gateway sandbox is being closed"));
    await app.close();
    await parts.sender.stopped();
    if (parts.database.isOpen) parts.database.close();
  };
  try {
    await app.listen({ host, port });
  } catch (error) {
    await close();
    throw error;
  }
  parts.sender.kick();
  const bound = (app.server.address() as AddressInfo).port;
  return {
    /** `http://host:port` or `https://host:port`, without a slash at the end. */
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    port: bound,
    addFault: (fault: FaultInput): void => parts.faults.add(faultSchema.parse(fault)),
    faults: () => parts.faults.all,
    clearFaults: (): void => parts.faults.clear(),
    orders: () => parts.orders.list(ORDERS_LISTED_MAX).map(orderView),
    close,
  };
}

/**
 * Calls `work` after the answer to a request, or at once if the client has disconnected, so that
 * notifications are sent after the answer to the request that caused them.
 */
function afterAnswer(answer: ServerResponse, work: () => void): void {
  if (answer.closed) work();
  else answer.once("close", work);
}

const allRoutes = [soapRoutes, lookupRoutes, pageRoutes, categoryRoutes, controlRoutes] as const;
