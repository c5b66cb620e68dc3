/**
 * Writes docs/fleet: a JSON Schema for each document between a kiosk and its fleet, and all of them
 * with their topics as AsyncAPI 3. `npm run readme` writes, a test compares. The schemas of what a
 * kiosk reports are open: a reader that uses them takes the documents of later versions too.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { projectRoot } from "../src/shared/version-files.ts";
import {
  FLEET_VERSION,
  type FleetName,
  fleetDocuments,
  topicOf,
} from "../src/supervisor/fleet/documents.ts";

const names = Object.keys(fleetDocuments) as FleetName[];

/** Returns the texts of the files in docs/fleet, by path. */
export function fleetFiles(): Record<string, string> {
  const schemas = names.map((name) => [`docs/fleet/${name}.schema.json`, schemaOf(name)] as const);
  const files = [...schemas, ["docs/fleet/asyncapi.json", asyncApi()] as const];
  return Object.fromEntries(
    files.map(([path, content]) => [path, `${JSON.stringify(content, null, 2)}\n`]),
  );
}

function schemaOf(name: FleetName): object {
  const { schema, meaning, from } = fleetDocuments[name];
  // A kiosk refuses a request with a member that it does not know, so this schema stays closed.
  const { $schema, ...body } = z.toJSONSchema(schema, from === "kiosk" ? { override: open } : {});
  return {
    $schema,
    $id: `urn:connector:fleet:${FLEET_VERSION}:${name}`,
    title: name,
    description: meaning,
    ...body,
  };
}

function open({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema["additionalProperties"] === false) delete jsonSchema["additionalProperties"];
  if (jsonSchema["growing"] !== true) return;
  jsonSchema["examples"] = jsonSchema["enum"];
  delete jsonSchema["enum"];
  delete jsonSchema["growing"];
}

function asyncApi(): object {
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Kiosks of a fleet",
      version: `${FLEET_VERSION}.0.0`,
      description:
        "What a kiosk publishes to an MQTT broker, and the requests that it takes. QoS 1; a " +
        "document may come twice, with the same id. See docs/fleet.md 3.1.",
    },
    defaultContentType: "application/json",
    channels: Object.fromEntries(names.map((name) => [name, channelOf(name)])),
    operations: Object.fromEntries(names.map((name) => [name, operationOf(name)])),
    components: { messages: Object.fromEntries(names.map((name) => [name, messageOf(name)])) },
  };
}

function channelOf(name: FleetName): object {
  return {
    address: topicOf("{kiosk}", name),
    description: fleetDocuments[name].meaning,
    parameters: { kiosk: { description: "FLEET_ID of the kiosk." } },
    messages: { [name]: { $ref: `#/components/messages/${name}` } },
  };
}

function operationOf(name: FleetName): object {
  const { from, retained, expirySeconds } = fleetDocuments[name];
  const expiry = expirySeconds === null ? {} : { messageExpiryInterval: expirySeconds };
  return {
    action: from === "kiosk" ? "send" : "receive",
    channel: { $ref: `#/channels/${name}` },
    bindings: { mqtt: { qos: 1, retain: retained, ...expiry, bindingVersion: "0.2.0" } },
  };
}

function messageOf(name: FleetName): object {
  return { name, payload: { $ref: `./${name}.schema.json` } };
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(fleetFiles())) {
    writeFileSync(join(projectRoot, path), text);
  }
}
