import { createServer } from "node:http";
import { onTestFinished } from "vitest";

interface Received {
  readonly contentType: string;
  readonly signature: string;
  readonly body: string;
  /** The form field `xml`, "" when there is none. */
  readonly xml: string;
}

export interface Merchant {
  readonly url: string;
  readonly received: readonly Received[];
  /** Status of the next answers; the last one stays. "hang" never answers, "reset" cuts. */
  answers(...statuses: readonly (number | "hang" | "reset")[]): void;
}

/** A merchant's listener on a real port: takes what is posted, answers as the test says. */
export async function merchantForTest(): Promise<Merchant> {
  const received: Received[] = [];
  let statuses: (number | "hang" | "reset")[] = [200];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      received.push({
        contentType: request.headers["content-type"] ?? "",
        signature: String(request.headers["x-allopass-signature"] ?? ""),
        body,
        xml: new URLSearchParams(body).get("xml") ?? "",
      });
      const status = statuses.length > 1 ? statuses.shift() : statuses[0];
      if (status === "reset") request.socket.destroy();
      else if (status !== "hang") response.writeHead(status ?? 200).end("success");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}/callback?shop=1`,
    received,
    answers: (...next) => {
      statuses = [...next];
    },
  };
}
