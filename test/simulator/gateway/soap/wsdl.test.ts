import { createClientAsync } from "soap";
import { describe, expect, test } from "vitest";
import { services } from "../../../../src/simulator/gateway/soap/services.ts";
import type { XmlElement } from "../../../../src/simulator/gateway/soap/xml.ts";
import { haveVectors, orderRequest, rootOf, sandboxForTest, vector } from "../sandbox-for-test.ts";

describe.runIf(haveVectors)("each WSDL is equivalent to the one real clients accept:", () => {
  for (const { path } of services) {
    test(path, async () => {
      const sandbox = await sandboxForTest();
      const ours = await (await fetch(`${sandbox.url}/soap/${path}?wsdl`)).text();
      const theirs = vector(`wsdl/${path}.wsdl`)?.replaceAll(
        "http://gateway.example.test",
        sandbox.url,
      );
      const parts = facts(rootOf(ours));
      expect(parts).toEqual(facts(rootOf(theirs ?? "")));
      expect(parts.length).toBeGreaterThan(20);
    });
  }
});

test("the WSDL is served at every address of a service, for the host name used", async () => {
  const sandbox = await sandboxForTest();
  const named = sandbox.url.replace("127.0.0.1", "localhost");
  for (const { path, operations } of services) {
    const paths = [path, ...operations.map(({ name }) => `${path}/${name}`)];
    for (const address of paths.flatMap((at) => [`${at}?wsdl`, `${at}?WSDL`, `${at}?wsdl=1`])) {
      const response = await fetch(`${named}/soap/${address}`);
      const text = await response.text();
      expect(response.headers.get("content-type")).toBe("text/xml; charset=utf-8");
      expect(text).toContain(`<soap:address location="${named}/soap/${path}"/>`);
    }
  }
});

test("a client library drives generate from the WSDL alone", async () => {
  const sandbox = await sandboxForTest();
  const client = await createClientAsync(`${sandbox.url}/soap/payment-v2?wsdl`, {
    disableCache: true,
  });
  const { manualCapture: _, ...texts } = orderRequest;
  const [{ generateResult }] = await client["generateAsync"]({
    parameters: {
      ...texts,
      manualCapture: true,
      description: "Café <&> 'thé'",
      freeData: { item: [{ key: "a", value: "1" }] },
    },
  });
  const [order] = sandbox.orders();
  expect(generateResult).toEqual({
    redirectUrl: `${sandbox.url}${order?.page}`,
    code: 0,
    description: "N/A",
  });
  expect(order).toMatchObject({ freeData: { a: "1" }, manualCapture: true });
  expect(order?.fields["description"]).toBe("Café <&> 'thé'");
});

test("a client library reads a refusal as a result, not as an exception", async () => {
  const sandbox = await sandboxForTest();
  const client = await createClientAsync(`${sandbox.url}/soap/payment-v2/generate?wsdl`, {
    disableCache: true,
  });
  const [{ generateResult }] = await client["generateAsync"]({
    parameters: { ...orderRequest, wsPassword: "wrong" },
  });
  expect(generateResult.code).toBe(1);
});

/**
 * What a WSDL says, one line per element, in an order of their own: prefixes, layout, and the
 * order of definitions, of types and of the fields of an `all` carry no meaning.
 */
function facts(element: XmlElement, at = ""): string[] {
  const identity = element.attributes.get("name") ?? element.attributes.get("element") ?? "";
  const path = `${at}/${element.name} ${identity}`;
  const attributes = [...element.attributes]
    .filter(([name]) => !(at === "" && name === "name"))
    .map(([name, value]) => `${name}=${value}`)
    .sort();
  const own = `${path} {${element.namespace}} ${attributes.join(" ")}`;
  return [own, ...element.children.flatMap((child) => facts(child, path))].sort();
}
