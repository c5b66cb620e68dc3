import { expect, test } from "vitest";
import { LOGIN, PASSWORD, sandboxForTest } from "../simulator/gateway/sandbox-for-test.ts";
import { ForeignProgram, interpreters, isInstalled, titled } from "./interpreter.ts";
import { nodeSoapTour, type Step } from "./node-soap-tour.ts";

/** Client programs of others, each from the WSDL at both kinds of address. */
const programs = [
  ["PHP's SoapClient", interpreters.php, "tour.php"],
  ["Python's zeep", interpreters.zeep, "tour-zeep.py"],
  ["Python's suds", interpreters.suds, "tour-suds.py"],
  ["Perl's SOAP::Lite", interpreters.perl, "tour.pl"],
] as const;

const WEBSITE = 107;
const categories = [
  { id: 5, label: "Vending" },
  { id: 9, label: "Thé & Café" },
];
const accounts = [
  { login: LOGIN, password: PASSWORD, websites: [{ id: WEBSITE, currency: "EUR", categories }] },
];

const refunded = "Refund to credit card request for transaction ID has been sent !";
const done = { transactionPublicId: "ID", code: 0 };
const expected: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  generate: { redirectUrl: "PAGE", code: 0, description: "N/A" },
  "bad password": { code: 1, description: `Bad password for login '${LOGIN}'` },
  "value refused": {
    code: 3,
    description: "amount invalid: it must be positive with at most 2 decimals in EUR",
  },
  details: {
    ...done,
    description: "N/A",
    transactionStatus: "authorized",
    amount: 14.39,
    currency: "EUR",
  },
  confirm: { ...done, description: "transaction has been confirmed" },
  "cancel too late": {
    transactionPublicId: "ID",
    code: 20,
    description: "transaction ID: it is captured: refund it instead",
  },
  "refund of a part": { ...done, description: refunded, amount: 4, currency: "EUR" },
  "refund of the rest": { ...done, description: refunded, amount: 10.39, currency: "EUR" },
  "refund of nothing": {
    transactionPublicId: "ID",
    code: 20,
    description: "transaction ID is not refundable to card: it is refunded",
  },
  "generate again": { redirectUrl: "PAGE", code: 0, description: "N/A" },
  cancel: { ...done, description: "transaction has been cancelled" },
  "confirm too late": {
    transactionPublicId: "ID",
    code: 20,
    description: "transaction ID: it is cancelled, not authorized",
  },
  "refund too early": {
    transactionPublicId: "ID",
    code: 20,
    description: "transaction ID is not refundable to card: it is cancelled",
  },
};

test("node-soap's tour gets the documented answers", async () => {
  const sandbox = await sandboxForTest({ accounts });
  expect(comparable(await nodeSoapTour(sandbox.url, WEBSITE))).toEqual(expected);
});

for (const [name, interpreter, program] of programs) {
  test.runIf(isInstalled(interpreter))(
    titled(`${name} understands every answer as node-soap does`, interpreter),
    async () => {
      const sandbox = await sandboxForTest({ accounts });
      const args = [program, sandbox.url, LOGIN, PASSWORD, String(WEBSITE)];
      const tour = new ForeignProgram(interpreter, args);
      await tour.finished();
      const steps = tour.received() as unknown as Step[];
      const named = { "5": "Vending", "9": "Thé & Café" };
      expect(steps.pop()).toEqual({ step: "categories", result: named });
      expect(comparable(steps)).toEqual(expected);
      const orders = sandbox.orders();
      expect(orders.map(({ state }) => state)).toEqual(["cancelled", "refunded"]);
      for (const order of orders) {
        expect(order).toMatchObject({
          amount: "14.39",
          manualCapture: true,
          freeData: { table: "7", note: "ça & là" },
          fields: {
            description: "Thé à la menthe & <gâteau>",
            urlCallback: "http://127.0.0.1:9/notify?a=1&b=2",
          },
        });
      }
    },
  );
}

/**
 * Answers without what differs from run to run, and without what differs between the packages: an
 * empty element may be null, an empty text or nothing, a number may be text.
 */
function comparable(steps: readonly Step[]): Record<string, unknown> {
  return Object.fromEntries(
    steps.map(({ step, result }) => [
      step,
      Object.fromEntries(
        Object.entries(result).flatMap(([name, value]) =>
          value === null || value === "" ? [] : [[name, plain(name, value)]],
        ),
      ),
    ]),
  );
}

function plain(name: string, value: unknown): unknown {
  if (name === "code" || name === "amount") return Number(value);
  return String(value)
    .replace(/\b[0-9A-F]{16}\b/g, "ID")
    .replace(/^http:\/\/127\.0\.0\.1:\d+\/index\/ws\/id\/[0-9a-f]{32}$/, "PAGE");
}
