import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { ApiOptions } from "../../../src/tp-manager/http/app.ts";
import { listenOnLoopback } from "../../../src/tp-manager/http/door/loopback-server.ts";
import { type House, house } from "../../support/house/payment-house.ts";
import { freePort } from "../../support/programs/installation.ts";
import { apiOptions, authorization } from "./rig.ts";
import { createWatchedApi } from "./watched-api.ts";

/** The API on real sockets, on a house of its own. */
export async function listening(change: Partial<ApiOptions> = {}, at: House = house()) {
  const port = await freePort();
  const options = apiOptions(at, { port, ...change });
  const app = await createWatchedApi(options);
  const server = await listenOnLoopback(app, port, options);
  let open = true;
  const close = async (): Promise<void> => {
    if (open) await server.close();
    open = false;
  };
  onTestFinished(close);
  const get = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { authorization, ...(init.headers as Record<string, string>) },
    });
  return { app, at, port, get, close, raw: (text?: string) => rawSocket(port, text) };
}

interface RawSocket {
  readonly socket: Socket;
  readonly received: () => string;
  readonly ended: Promise<string>;
}

/** A socket that sends exactly these bytes. */
export function rawSocket(port: number, text = "", host = "127.0.0.1"): RawSocket {
  const socket = connect(port, host);
  let received = "";
  socket.setEncoding("latin1");
  socket.on("data", (chunk) => {
    received += chunk;
  });
  socket.on("error", () => undefined); // a cut is one of the expected ends
  const ended = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  if (text !== "") socket.write(text, "latin1");
  onTestFinished(() => void socket.destroy());
  return { socket, received: () => received, ended };
}
