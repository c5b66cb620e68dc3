import { expect, test } from "vitest";
import { generate, PASSWORD, sandboxForTest } from "../simulator/gateway/sandbox-for-test.ts";
import { freePort } from "../support/programs/installation.ts";
import { ForeignProgram, interpreters, isInstalled, titled } from "./interpreter.ts";

/** Verifiers of others: the digest covers result bytes and password (docs/gateway.md 3.2). */
const programs = [
  ["PHP", interpreters.php, (port: number) => ["-S", `127.0.0.1:${port}`, "verify.php"]],
  ["Python", interpreters.lxml, (port: number) => ["verify.py", String(port)]],
  ["Perl", interpreters.perl, (port: number) => ["verify.pl", String(port)]],
] as const;

const note = 'ça & là "<so>"';
const noteXml = 'ça &amp; là "&lt;so&gt;"';

for (const [name, interpreter, args] of programs) {
  test.runIf(isInstalled(interpreter))(
    titled(`a verifier in ${name} believes the sandbox's notifications and no others`, interpreter),
    async () => {
      const port = await freePort();
      const listener = new ForeignProgram(interpreter, args(port), { PASSWORD });
      await listener.listens(port);
      const sandbox = await sandboxForTest();
      const order = {
        urlCallback: `http://127.0.0.1:${port}/notify?shop=1`,
        freeData: `<item><key>note</key><value>${noteXml}</value></item>`,
      };
      await generate(sandbox, order);
      await pay(sandbox);
      const received = (count: number) =>
        expect.poll(() => listener.received()).toHaveLength(count);
      await received(2);
      const read = { good: true, origAmount: "19.99", idForMerchant: "Order_12345" };
      for (const [i, operation] of ["authorization", "capture"].entries()) {
        const one = listener.received()[i];
        expect(one).toMatchObject({ ...read, operation, status: "ok", _aKey_note: note });
        // Where the language can, the bytes are written again by libxml2: the digest still fits.
        expect([undefined, true]).toContain(one?.["again"]);
      }
      sandbox.addFault({ kind: "notification-bad-digest" });
      await generate(sandbox, order);
      await pay(sandbox);
      await received(4);
      expect(listener.received().map(({ good }) => good)).toEqual([true, true, false, false]);
    },
  );
}

async function pay(sandbox: Awaited<ReturnType<typeof sandboxForTest>>): Promise<void> {
  const [newest] = sandbox.orders();
  const path = `/sandbox/orders/${newest?.transactionPublicId}/pay`;
  expect((await fetch(sandbox.url + path, { method: "POST" })).status).toBe(200);
}
