import { z } from "zod";

export type Json = Record<string, unknown>;

/**
 * The JSON Schemas of a document. Schemas with a name stand once, among the components, and
 * referred to; others stand where they are used. {@link fill} writes all of them at the end, so
 * that those in use can refer to each other.
 */
export class SchemaBook {
  readonly components: Record<string, Json> = {};
  readonly #written = new Map<string, Json>();
  readonly #registry = z.registry<{ id: string }>();

  constructor(named: Readonly<Record<string, z.ZodType>>) {
    for (const [id, schema] of Object.entries(named)) {
      this.#registry.add(schema, { id });
      this.#written.set(id, {});
    }
    for (const id of Object.keys(named)) this.components[id] = this.#written.get(id) as Json;
  }

  /** The schema, or a reference to it. */
  of(schema: z.core.$ZodType): Json {
    const name = this.#registry.get(schema)?.id;
    if (name !== undefined && name in this.components) return refTo(name);
    const id = name ?? `inline-${this.#written.size}`;
    const schemaHere = this.#written.get(id) ?? {};
    this.#written.set(id, schemaHere);
    this.#registry.add(schema, { id });
    return schemaHere;
  }

  fill(): void {
    const { schemas } = z.toJSONSchema(this.#registry, {
      uri: (id) => `#/components/schemas/${id}`,
      // A later version may add members to an answer.
      io: "input",
      unrepresentable: "any",
      override: ({ zodSchema, jsonSchema }) => this.#asDocumented(zodSchema, jsonSchema),
    });
    for (const [id, { $schema: _, $id: __, ...schema }] of Object.entries(schemas)) {
      Object.assign(this.#written.get(id) ?? {}, schema);
    }
  }

  /** Replaces what zod says of a schema by what the schema itself says. */
  #asDocumented(schema: z.core.$ZodType, json: z.core.JSONSchema.BaseSchema): void {
    const meta = z.globalRegistry.get(schema) ?? {};
    const replacing = meta.documented as z.ZodType | undefined;
    delete json["documented"];
    delete json["exactlyOne"];
    if (replacing) {
      const name = this.#registry.get(replacing)?.id;
      const options = { io: "input", unrepresentable: "any" } as const;
      const { $schema: _, ...said } = name ? refTo(name) : z.toJSONSchema(replacing, options);
      Object.assign(json, { ...said, ...json });
    }
    if (meta.exactlyOne) Object.assign(json, withEither(json as Json, meta.exactlyOne));
  }
}

const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** Two objects, each without the other's member: an object with one of two members. */
function withEither(json: Json, names: readonly [string, string]): Json {
  const {
    properties,
    required = [],
    additionalProperties,
    type,
  } = json as {
    properties: Json;
    required?: string[];
    additionalProperties?: boolean;
    type: string;
  };
  const oneOf = names.map((name) => {
    const other = names.find((one) => one !== name) as string;
    const { [other]: _, ...members } = properties;
    return { type, properties: members, required: [...required, name], additionalProperties };
  });
  for (const member of ["properties", "required", "additionalProperties", "type"]) {
    delete json[member];
  }
  return { oneOf };
}
