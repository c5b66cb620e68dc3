import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

interface Behaviour {
  /** The port of this machine to which every tunnel leads. */
  readonly to?: number;
  /** The login that the proxy demands, as login:password. */
  readonly login?: string;
  /** What the proxy does with a request in place of opening a tunnel. */
  readonly answer?: (socket: Socket) => void;
}

/** A proxy on this machine that opens tunnels (CONNECT), and answers other requests with 500. */
export async function testProxy({ to = 0, login, answer }: Behaviour) {
  const asked: string[] = [];
  const open = new Set<Socket>();
  const expected = login && `Basic ${Buffer.from(login).toString("base64")}`;
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(500).end();
  });
  proxy.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  proxy.on("connect", ({ url, headers }, socket: Socket) => {
    asked.push(`CONNECT ${url}`);
    // Also a proxy that only waits notices the end of the connection.
    socket.on("error", () => {}).on("end", () => socket.end());
    socket.resume();
    if (answer) return answer(socket);
    if (expected && headers["proxy-authorization"] !== expected) {
      return void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    }
    const onward = connect(to, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    onward.on("close", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => proxy.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  });
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, asked, open: () => open.size };
}
