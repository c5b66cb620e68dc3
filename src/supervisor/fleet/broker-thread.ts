import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../shared/time.ts";
import type { FromThread, ThreadTask, ToThread } from "./broker.ts";
import { mqttConnector } from "./mqtt-broker.ts";

/** One connection to the broker, in a thread of its own that lives as long (docs/fleet.md 4.3). */
const { settings, will } = workerData as ThreadTask;
const tell = (word: FromThread): void => parentPort?.postMessage(word);

try {
  const connect = mqttConnector(systemClock);
  const connection = await connect(settings, will, {
    lost: (because, words) => tell({ say: "lost", because, words }),
    received: ({ payload, retained }) => tell({ say: "received", payload, retained }),
  });
  parentPort?.on("message", async (word: ToThread) => {
    if (word.say === "alive") tell({ say: "alive" });
    if (word.say === "send") {
      tell({ say: "sent", id: word.id, sent: await connection.send(word.message) });
    }
    if (word.say === "close") {
      await connection.close();
      tell({ say: "closed" });
    }
  });
  tell({ say: "connected", window: connection.window });
} catch (error) {
  tell({ say: "failed", words: (error as Error).message });
}
