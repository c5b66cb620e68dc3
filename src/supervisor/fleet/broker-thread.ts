import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../shared/time.ts";
import type { FromThread, ThreadTask, ToThread } from "./broker.ts";
import { mqttConnector } from "./mqtt-broker.ts";

// This program is the thread that holds one connection to the broker (docs/fleet.md 4.3).
const { settings, will } = workerData as ThreadTask;
const send = (message: FromThread): void => parentPort?.postMessage(message);

try {
  const connect = mqttConnector(systemClock);
  const connection = await connect(settings, will, {
    lost: (because, text) => send({ say: "lost", because, text }),
    received: ({ payload, retained }) => send({ say: "received", payload, retained }),
  });
  parentPort?.on("message", async (message: ToThread) => {
    if (message.say === "alive") send({ say: "alive" });
    if (message.say === "send") {
      send({ say: "sent", id: message.id, sent: await connection.send(message.message) });
    }
    if (message.say === "close") {
      await connection.close();
      send({ say: "closed" });
    }
  });
  send({ say: "connected", window: connection.window });
} catch (error) {
  send({ say: "lost", because: "failed", text: (error as Error).message });
}
