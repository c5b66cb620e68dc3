import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import mqtt from "mqtt";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../support/installation.ts";
import { startProcess } from "../../support/own-processes.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { SupervisorProcess, writeConfig } from "../supervisor-process.ts";

const broker = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"].find(existsSync);

test.skipIf(!broker)(
  "mosquitto publishes the last will of a supervisor that was killed",
  async () => {
    const folder = temporaryFolder();
    const port = await freePort();
    const file = join(folder, "mosquitto.conf");
    writeFileSync(file, `listener ${port} 127.0.0.1\nallow_anonymous true\n`);
    const house = startProcess(broker ?? "", ["-c", file], { stdio: "ignore" });
    onTestFinished(() => void house.kill("SIGKILL"));
    const url = `mqtt://127.0.0.1:${port}`;
    const watcher = mqtt.connect(url, { protocolVersion: 5, reconnectPeriod: 50 });
    onTestFinished(() => void watcher.end(true));
    const states: { connection: string; now: { canPay: string } | null }[] = [];
    watcher.on("message", (_, payload) => states.push(JSON.parse(payload.toString())));
    watcher.on("error", () => {});
    await expect.poll(() => watcher.connected, { timeout: PATIENCE_MS }).toBe(true);
    await watcher.subscribeAsync("connector/1/kiosk-7/state", { qos: 1 });

    const data = join(folder, "data");
    mkdirSync(data);
    writeConfig(data, "http://127.0.0.1:9", { FLEET_URL: url, FLEET_ID: "kiosk-7" });
    const supervisor = new SupervisorProcess(data);
    await supervisor.ready();
    const told = () => states.map(({ connection, now }) => `${connection} ${now?.canPay}`);
    await expect.poll(told, { timeout: PATIENCE_MS }).toEqual(["online no"]);
    await supervisor.kill();
    await expect.poll(told, { timeout: PATIENCE_MS }).toEqual(["online no", "lost undefined"]);
    expect(supervisor.output).toBe("");
  },
);
