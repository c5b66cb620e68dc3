import { Agent, request } from "node:http";
import { onTestFinished } from "vitest";

interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * POSTs to a port of this machine over a few connections that are kept until the test ends. For
 * tens of thousands of requests: `fetch` takes longer than the server that is tested. A server
 * closes a connection that is idle for five seconds, and a busy machine can hold up this process
 * for as long: what was then sent on a kept connection is sent once more, on another one.
 */
export function postsTo(port: number, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  onTestFinished(() => agent.destroy());
  const post = (path: string, headers: Readonly<Record<string, string>>, body: Buffer | string) =>
    new Promise<Answer>((resolve, reject) => {
      const sent = request({ port, method: "POST", path, headers, agent }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => (text += piece));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.on("error", reject);
      });
      sent.on("error", (error: NodeJS.ErrnoException) => {
        const wasIdle = sent.reusedSocket && error.code === "ECONNRESET";
        if (wasIdle) post(path, headers, body).then(resolve, reject);
        else reject(error);
      });
      sent.end(body);
    });
  return post;
}
