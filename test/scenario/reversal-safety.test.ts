import { expect, onTestFinished, test } from "vitest";
import { TestInstallation } from "../support/programs/installation.ts";

test("a terminal that gave a receipt number again is not asked to reverse by it", async () => {
  const at = new TestInstallation({
    line: "tcp",
    alone: true,
    terminalSwitches: ["--instant"],
    config: { GATEWAY_WAIT: 0 },
  });
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  const memory = (body: object) => at.control("POST", "/memory", body);
  const reversal = async (orderId: string) => {
    const { http, one } = await at.call("POST", "/reversal", { orderId });
    return [http, one.error?.code ?? one.status];
  };
  const sale = async (orderId: string): Promise<string> => {
    const { one } = await at.pay(5, orderId);
    expect(one.status).toBe("Success");
    return one.receipt.transactionFileNumber ?? "";
  };

  const number = await sale("A");
  await memory({ action: "close", nextReceiptNumber: Number(number) });
  expect(await sale("B")).toBe(number);
  expect(await reversal("A")).toEqual([409, "REVERSAL_NOT_SAFE"]);
  await memory({ action: "clear", nextReceiptNumber: Number(number) });
  expect(await reversal("B")).toEqual([409, "REVERSAL_NOT_SAFE"]);
  expect(await sale("C")).toBe(number);
  expect(await reversal("A")).toEqual([409, "REVERSAL_NOT_SAFE"]);
  expect(await reversal("C")).toEqual([200, "Reversed"]);
  expect((await at.ledger()).charged).toBe(1_000);
});
