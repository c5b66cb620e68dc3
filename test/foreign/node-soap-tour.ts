import { createClientAsync } from "soap";
import { LOGIN, PASSWORD } from "../simulator/gateway/sandbox-for-test.ts";

type Parameters = Readonly<Record<string, unknown>>;

export interface Step {
  readonly step: string;
  readonly result: Readonly<Record<string, unknown>>;
}

/** The tour that the programs of this folder make, with the package that our client writes with. */
export async function nodeSoapTour(url: string, website: number): Promise<Step[]> {
  const steps: Step[] = [];
  const credentials = { wsLogin: LOGIN, wsPassword: PASSWORD };
  const ask = async (step: string, path: string, operation: string, given: Parameters) => {
    const client = await createClientAsync(`${url}/soap/${path}?wsdl`, { disableCache: true });
    const parameters = { ...credentials, ...given };
    const [answer] = await client[`${operation}Async`]({ parameters });
    steps.push({ step, result: answer[`${operation}Result`] });
  };
  const order = {
    websiteId: website,
    categoryId: 5,
    currency: "EUR",
    amount: 14.39,
    rating: "ALL",
    locale: "fr_FR",
    customerIpAddress: "127.0.0.1",
    executionDate: "2026-07-05T03:09:26",
    manualCapture: true,
    description: "Thé à la menthe & <gâteau>",
    urlCallback: "http://127.0.0.1:9/notify?a=1&b=2",
    freeData: {
      item: [
        { key: "table", value: "7" },
        { key: "note", value: "ça & là" },
      ],
    },
  };
  const named = { ...order, merchantReference: "tour-1" };
  await ask("generate", "payment-v2", "generate", named);
  await ask("bad password", "payment-v2", "generate", { ...order, wsPassword: "wrong" });
  await ask("value refused", "payment-v2", "generate", { ...order, amount: 0 });

  const first = { transactionPublicId: await pay(url, "tour-1") };
  await ask("details", "transaction-v2", "getDetails", first);
  await ask("confirm", "transaction-v2", "confirm", first);
  await ask("cancel too late", "transaction-v2", "cancel", first);

  const refund = { ...first, websiteId: website };
  await ask("refund of a part", "refund-v2", "card", { ...refund, amount: 4 });
  await ask("refund of the rest", "refund-v2", "card", refund);
  await ask("refund of nothing", "refund-v2", "card", refund);

  const again = { ...order, merchantReference: "tour-2" };
  await ask("generate again", "payment-v2/generate", "generate", again);
  const second = { transactionPublicId: await pay(url, "tour-2") };
  await ask("cancel", "transaction-v2/cancel", "cancel", second);
  await ask("confirm too late", "transaction-v2/cancel", "confirm", second);
  await ask("refund too early", "refund-v2/card", "card", { ...second, websiteId: website });
  return steps;
}

async function pay(url: string, reference: string): Promise<string> {
  const found = await fetch(`${url}/sandbox/orders?merchantReference=${reference}`);
  const [order] = (await found.json()) as Array<{ transactionPublicId: string }>;
  const id = order?.transactionPublicId ?? "";
  await fetch(`${url}/sandbox/orders/${id}/pay`, { method: "POST" });
  return id;
}
