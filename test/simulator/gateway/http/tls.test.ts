import { X509Certificate } from "node:crypto";
import { request } from "node:https";
import { expect, test } from "vitest";
import { selfSignedTls } from "../../../../src/simulator/gateway/http/self-signed.ts";
import { orderBody, sandboxForTest } from "../sandbox-for-test.ts";

/** Posts an order over TLS with one certificate as the only authority. */
function postOver(url: string, ca: string, servername?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "text/xml" };
    const options = {
      method: "POST",
      agent: false,
      ca,
      headers,
      ...(servername && { servername }),
    };
    const outgoing = request(`${url}/soap/payment-v2`, options, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(text));
    });
    outgoing.on("error", reject);
    outgoing.end(orderBody);
  });
}

test("a made certificate is valid for its names, and signed by itself", () => {
  const now = Date.UTC(2026, 6, 5, 3, 9, 26);
  const { cert } = selfSignedTls(["gateway.example.test", "127.0.0.1", "::1", "fe80::1:2"], now);
  const certificate = new X509Certificate(cert);
  expect(certificate.checkHost("gateway.example.test")).toBe("gateway.example.test");
  expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(certificate.checkIP("::1")).toBe("::1");
  expect(certificate.checkIP("fe80::1:2")).toBe("fe80::1:2");
  expect(certificate.checkHost("other.example.test")).toBeUndefined();
  expect(certificate.ca).toBe(true);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(new Date(certificate.validFrom).getTime()).toBe(now - 24 * 3_600_000);
});

test("clients that trust the certificate are served over https, with https addresses", async () => {
  const tls = selfSignedTls(["localhost", "127.0.0.1"], Date.now());
  const sandbox = await sandboxForTest({ tls });
  expect(sandbox.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const text = await postOver(sandbox.url, String(tls.cert));
  expect(text).toContain(`<redirectUrl>${sandbox.url}/index/ws/id/`);
  const byName = sandbox.url.replace("127.0.0.1", "localhost");
  expect(await postOver(byName, String(tls.cert))).toContain(`<redirectUrl>${byName}/index/`);
});

test("clients that trust another certificate do not get through", async () => {
  const sandbox = await sandboxForTest({ tls: selfSignedTls(["127.0.0.1"], Date.now()) });
  const other = selfSignedTls(["127.0.0.1"], Date.now());
  await expect(postOver(sandbox.url, String(other.cert))).rejects.toThrow(/certificate|self/);
  expect(sandbox.orders()).toEqual([]);
});

test("a reset over TLS ends the connection without an answer", async () => {
  const tls = selfSignedTls(["127.0.0.1"], Date.now());
  const sandbox = await sandboxForTest({ tls, faults: [{ kind: "reset-after-commit" }] });
  await expect(postOver(sandbox.url, String(tls.cert))).rejects.toThrow(/hang up|ECONNRESET/);
  expect(sandbox.orders()).toHaveLength(1);
});
