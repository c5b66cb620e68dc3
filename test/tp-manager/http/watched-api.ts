import type { FastifyInstance } from "fastify";
import { expect, onTestFinished } from "vitest";
import { type ApiOptions, createApi } from "../../../src/tp-manager/http/app.ts";
import { nonconformityOf } from "./conformity.ts";

/** The API; the test that made it fails when an answer is not as the document says. */
export async function createWatchedApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = await createApi(options);
  const faults: string[] = [];
  app.addHook("onSend", (request, reply, payload, done) => {
    const contentType = String(reply.getHeader("content-type"));
    const { method, url } = request;
    const { statusCode: status } = reply;
    const text = String(payload ?? "");
    // The answer to a preflight has no body and is the browser's own affair.
    const fault =
      status === 204 ? undefined : nonconformityOf({ method, url, status, contentType, text });
    if (fault !== undefined) faults.push(fault);
    done();
  });
  onTestFinished(() => expect(faults).toEqual([]));
  return app;
}
