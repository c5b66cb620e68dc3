import { once } from "node:events";
import { connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { sleep } from "../../../src/shared/time.ts";
import { steppedClock } from "./stepped-clock.ts";

test("what has arrived while the processor was away is read before a timer is over", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  const client = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  const [far] = await once(server, "connection");
  const happened: string[] = [];
  const timer = steppedClock.startTimer("answer", 60, () => happened.push("too late"));
  client.once("data", () => {
    timer.clear();
    happened.push("answer");
  });
  far.write("answer");
  const startedMs = performance.now();
  while (performance.now() - startedMs < 200);
  await sleep(steppedClock, "all that follows", 100);
  expect(happened).toEqual(["answer"]);
});

test("a timer takes its time", async () => {
  const startedMs = performance.now();
  await sleep(steppedClock, "nap", 60);
  expect(performance.now() - startedMs).toBeGreaterThan(55);
});
