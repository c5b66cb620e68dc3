import { z } from "zod";

export type Json = Record<string, unknown>;

/** The texts of a schema's members by name; "" is the schema itself, "[]" a list's elements. */
export interface Texts {
  readonly [member: string]: string | Texts;
}

/**
 * The JSON Schemas of a document. A schema with a name stands once, among the components; others
 * stand where they are used. {@link fill} writes all of them last, as they refer to each other.
 */
export class SchemaBook {
  readonly components: Record<string, Json> = {};
  readonly #written = new Map<string, Json>();
  readonly #registry = z.registry<{ id: string }>();
  readonly #texts: Array<readonly [schema: Json, texts: Texts]> = [];

  constructor(named: Readonly<Record<string, z.ZodType>>, texts: Readonly<Record<string, Texts>>) {
    for (const [id, schema] of Object.entries(named)) {
      this.components[id] = this.#write(id, schema, texts[id]);
    }
  }

  /** Returns the schema or a reference to it. `texts`: the texts of a schema without a name. */
  of(schema: z.core.$ZodType, texts?: Texts): Json {
    const name = this.#registry.get(schema)?.id;
    if (name !== undefined && name in this.components) return refTo(name);
    return this.#write(name ?? `inline-${this.#written.size}`, schema, texts);
  }

  #write(id: string, schema: z.core.$ZodType, texts: Texts = {}): Json {
    const json = this.#written.get(id) ?? {};
    this.#written.set(id, json);
    this.#registry.add(schema, { id });
    this.#texts.push([json, texts]);
    return json;
  }

  fill(): void {
    const { schemas } = z.toJSONSchema(this.#registry, {
      uri: (id) => `#/components/schemas/${id}`,
      // Answers may get members in a later version, so unknown members stay allowed.
      io: "input",
      unrepresentable: "any",
      override: ({ zodSchema, jsonSchema }) => this.#asDocumented(zodSchema, jsonSchema),
    });
    for (const [id, { $schema: _, $id: __, ...schema }] of Object.entries(schemas)) {
      Object.assign(this.#written.get(id) ?? {}, schema);
    }
    for (const [schema, texts] of this.#texts) addTexts(schema, texts);
  }

  /** Replaces the JSON Schema that zod makes by that of the schema in `documented`, if any. */
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
    if (meta.exactlyOne) splitInTwo(json, meta.exactlyOne);
  }
}

const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

function splitInTwo(json: z.core.JSONSchema.BaseSchema, names: readonly [string, string]): void {
  const { type, properties, required = [], additionalProperties } = json;
  const oneOf = names.map((name) => {
    const members = Object.entries(properties ?? {}).filter(
      ([member]) => member === name || !names.includes(member),
    );
    const its = { properties: Object.fromEntries(members), required: [...required, name] };
    return { type, ...its, additionalProperties };
  });
  for (const member of ["properties", "required", "additionalProperties", "type"]) {
    delete json[member];
  }
  Object.assign(json, { oneOf });
}

/** Writes the texts into a schema. Throws for a text about a member that the schema lacks. */
function addTexts(schema: Json, texts: Texts): void {
  for (const [name, text] of Object.entries(texts)) {
    const member = name === "" ? schema : memberOf(schema, name);
    if (!member) throw new Error(`the schema lacks ${name} of the text ${JSON.stringify(text)}`);
    if (typeof text === "string") member["description"] = text;
    else addTexts(member, text);
  }
}

/** Returns the schema of a member; `schema` may be a list of objects or a choice of several. */
function memberOf(schema: Json, name: string): Json | undefined {
  const { properties = {}, items, anyOf, oneOf } = schema as Record<string, Json | undefined>;
  const member = name === "[]" ? items : (properties[name] as Json | undefined);
  const inner = [items, anyOf, oneOf].flat().filter((one) => one !== undefined);
  return member ?? inner.map((one) => memberOf(one, name)).find((one) => one !== undefined);
}
