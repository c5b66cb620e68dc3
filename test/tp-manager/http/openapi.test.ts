import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, onTestFinished, test } from "vitest";
import { errorTable } from "../../../src/shared/catalog/errors.ts";
import { createApi } from "../../../src/tp-manager/http/app.ts";
import { calls } from "../../../src/tp-manager/http/calls/calls.ts";
import { examplesOf } from "../../../src/tp-manager/http/openapi/document.ts";
import { known } from "../../../src/tp-manager/http/openapi/known-answers.ts";
import { house } from "../../support/house/payment-house.ts";
import { document, faultsOf, schemaPathOf } from "./conformity.ts";
import { api, apiOptions } from "./rig.ts";

describe("GET /openapi.json", () => {
  test("is a valid OpenAPI 3.1 document for an independent validator", async () => {
    const { call } = await api();
    const { http, text } = await call("GET", "/openapi.json");
    expect(http).toBe(200);
    // "npm run readme" writes the file that is served.
    expect(JSON.parse(text)).toEqual(document);
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(text));
    expect([valid, errors]).toEqual([true, undefined]);
    expect(validator.version).toBe("3.1");
  });

  test("describes every call that the server has", async () => {
    const { app } = await api();
    const routes = routesOf(app.printRoutes({ commonPrefix: false }));
    expect(routes.length).toBeGreaterThan(15);
    const missing = routes.filter(([path = "", method = ""]) => {
      const template = path.replace(/:(\w+)/g, "{$1}");
      const verb = method === "HEAD" ? "get" : method.toLowerCase();
      return !document.paths[template]?.[verb];
    });
    expect(missing).toEqual([]);
    const heads = routes.filter(([, method]) => method === "HEAD");
    const paths = heads.map(([path = ""]) => `\`${path.replace(/:(\w+)/g, "{$1}")}\``);
    const documented = /has HEAD too.*\n(.*)\.\n/.exec(document.info.description)?.[1]?.split(", ");
    expect(documented?.toSorted()).toEqual(paths.toSorted());
  });

  test("marks each Success that is no payment with accepted", () => {
    const successes = calls.flatMap(({ path }) => {
      const answer = (examplesOf(path).answer ?? {}) as Record<string, unknown>;
      if (answer["status"] !== "Success") return [];
      return [{ path, isPayment: "receipt" in answer, accepted: answer["accepted"] }];
    });
    expect(successes.length).toBeGreaterThan(15);
    const wrong = successes.filter(
      ({ isPayment, accepted }) => isPayment !== (accepted === undefined),
    );
    expect(wrong).toEqual([]);
  });

  test("names every error code with its HTTP status", () => {
    const text = JSON.stringify([document.paths, document.components.responses]);
    const missing = Object.keys(errorTable).filter((code) => !text.includes(code));
    expect(missing).toEqual([]);
    for (const code of Object.keys(errorTable)) expect(document.info.description).toContain(code);
  });

  const examples = calls.flatMap(({ path, methods, document }) => {
    const { type } = document(known);
    const { body: bodyExample, answer } = examplesOf(path);
    const verb = methods.at(-1)?.toLowerCase() ?? "";
    const json = ["content", "application/json", "schema"];
    const body = ["paths", path, verb, "requestBody", ...json];
    return [
      ...(bodyExample === undefined ? [] : [{ where: body, example: bodyExample }]),
      ...(type === undefined
        ? [{ where: [...(schemaPathOf(path, verb, 200) ?? []), ...json], example: [answer] }]
        : []),
    ];
  });
  test.each(examples)("shows an example that is as it says: $where", ({ where, example }) => {
    expect(faultsOf(where, example)).toEqual([]);
  });

  test("no call may have a JSON schema, whose compilers are not loaded", async () => {
    const options = apiOptions(house());
    const server = await createApi(options);
    onTestFinished(() => server.close());
    server.get("/schema", { schema: { querystring: { type: "object" } } }, () => "");
    await expect(server.ready()).rejects.toThrow("JSON schema");
  });

  test("a wrong answer is found to be wrong", () => {
    const where = ["paths", "/check", "get", "responses", "200", "content", "application/json"];
    expect(faultsOf([...where, "schema"], [{ cr: 0 }])).not.toEqual([]);
    expect(faultsOf([...where, "schema"], { cr: "0" })).not.toEqual([]);
  });
});

/** The framework prints a tree; four columns are one level. */
function routesOf(tree: string): string[][] {
  const parents: string[] = [];
  return tree.split("\n").flatMap((line) => {
    const [, indent = "", part = "", methods = ""] =
      /^(.*?)[├└]── (\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
    const depth = indent.length / 4;
    parents.splice(depth, Infinity, part);
    const path = parents.join("").replace("//", "/");
    return methods.split(", ").flatMap((method) => (method === "" ? [] : [[path, method]]));
  });
}
