import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { requireListening } from "../../../src/supervisor/notifications/notification-listener.ts";

test("a version on probation finds out about a taken port before it stays", async () => {
  const other = createServer();
  onTestFinished(() => void other.close());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  await expect(requireListening("127.0.0.1", port)).rejects.toMatchObject({
    exitCode: 78,
    message: expect.stringContaining(`cannot listen at 127.0.0.1 port ${port}`),
  });
  await new Promise((resolve) => other.close(resolve));
  await requireListening("127.0.0.1", port);
  await requireListening("127.0.0.1", port);
});
