import { expect, onTestFinished, test } from "vitest";
import { ConnectorClient, type ConnectorEvent } from "../../src/client/client.ts";
import { TestInstallation } from "../support/programs/installation.ts";

test("a paused queue is shown by /events and /health, after restarts too", async () => {
  const at = new TestInstallation({
    terminalSwitches: ["--instant"],
    config: { GATEWAY_PWD: "not-the-password" },
  });
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  const client = new ConnectorClient({ url: at.url, login: "kiosk", password: at.password });
  expect(await client.pay({ amount: 9, orderId: "A-1" })).toMatchObject({
    status: "Success",
    notificationGatewaySent: false,
  });
  const alarm = await eventOf(client, "alarm");
  expect(alarm.data).toMatchObject({
    alarm: "gateway-credentials-refused",
    source: "supervisor",
  });
  const health = await client.health();
  expect(health.alarms).toMatchObject([{ id: alarm.id, alarm: "gateway-credentials-refused" }]);
  expect(health.warnings).toEqual([expect.stringMatching(/^Nothing is sent to the gateway: /)]);

  await Promise.all([at.tpManager?.end("SIGKILL"), at.supervisor?.end("SIGKILL")]);
  await Promise.all([at.startSupervisor(), at.startTpManager()]);
  expect(await eventOf(client, "alarm")).toEqual(alarm);
});

/** The first event of this name that is kept. */
async function eventOf(client: ConnectorClient, name: string): Promise<ConnectorEvent> {
  const stop = new AbortController();
  for await (const event of client.events({ signal: stop.signal, afterId: 0 })) {
    if (event.name !== name) continue;
    stop.abort();
    return event;
  }
  throw new Error(`the stream ended without ${name}`);
}
