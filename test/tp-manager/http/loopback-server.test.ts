import { once } from "node:events";
import { connect, createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { ProgramExit } from "../../../src/shared/process/exit-codes.ts";
import { installationAt } from "../../../src/shared/program/installation.ts";
import { listenOnLoopback } from "../../../src/tp-manager/http/door/loopback-server.ts";
import { house } from "../../support/house/payment-house.ts";
import { freePort } from "../../support/programs/installation.ts";
import { apiOptions } from "./rig.ts";
import { createWatchedApi } from "./watched-api.ts";

test.each(["127.0.0.1", "::1"])("a port that is taken on %s is used on neither", async (host) => {
  const port = await freePort();
  const other = createServer((socket) => socket.end("another")).listen({ port, host });
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const options = apiOptions(house(), { port });
  const app = await createWatchedApi(options);
  onTestFinished(() => app.close());
  const context = { log: options.log, installation: installationAt("data/demo") };
  const refused = listenOnLoopback(app, port, context);
  await expect(refused).rejects.toThrow(
    /choose another LOCAL_PORT in \/.+\/data\/demo\/config\.txt$/,
  );
  const free = host === "::1" ? "127.0.0.1" : "[::1]";
  await expect(fetch(`http://${free}:${port}/version`)).rejects.toMatchObject({
    cause: { code: "ECONNREFUSED" },
  });
});

test("a client that sends no request cannot hold up the refusal of a port", async () => {
  const port = await freePort();
  const other = createServer().listen({ port, host: "::1" });
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const options = apiOptions(house(), { port });
  const app = await createWatchedApi(options);
  const listen = app.listen.bind(app);
  vi.spyOn(app, "listen").mockImplementation(async (...at: unknown[]) => {
    const address = await listen(...(at as Parameters<typeof listen>));
    const client = connect(port, "127.0.0.1").resume();
    onTestFinished(() => void client.destroy());
    await once(app.server, "connection");
    return address;
  });
  await expect(listenOnLoopback(app, port, options)).rejects.toBeInstanceOf(ProgramExit);
});
