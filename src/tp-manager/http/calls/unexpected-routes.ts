import type { FastifyInstance } from "fastify";
import type { SettledStray } from "../../attempts/terminal-log.ts";
import type { ApiOptions } from "../app.ts";

const LISTED_MAX = 100;

/** Results that the terminal reported although nothing ran, for operators (docs/design.md 3.4). */
export function installUnexpectedRoutes(app: FastifyInstance, { orders }: ApiOptions): void {
  app.get("/unexpected-reports", (_call, reply) =>
    reply.send(orders.unexpectedReports(LISTED_MAX).map(entry)),
  );
}

function entry({ id, atMs, report, identity, finding, because, endedAtMs }: SettledStray): object {
  const { receiptNumber, traceNumber, amountMinor, maskedPan, cardName } = report;
  const { resultCode, authorisationNumber, localDate, localTime, receipt } = report;
  return {
    id,
    at: new Date(atMs).toISOString(),
    finding,
    because,
    foundAt: endedAtMs === null ? null : new Date(endedAtMs).toISOString(),
    ...{ receiptNumber, traceNumber, amountMinor, currency: receipt.currencyAlphaCode || "EUR" },
    ...{ maskedPan, cardName, resultCode, authorisationNumber, localDate, localTime },
    terminalId: report.terminalId ?? identity.terminalId,
    serialNumber: identity.serialNumber,
  };
}
