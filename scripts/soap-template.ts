/**
 * Writes the template of an order's envelope, src/supervisor/gateway/order-template.ts, from what
 * the `soap` package makes of the WSDL. A test holds the two equal, so run it again after a change
 * of the package, of the WSDL or of the fields:
 *   node scripts/soap-template.ts
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../src/shared/version-files.ts";
import { orderFields } from "../src/supervisor/gateway/order-fields.ts";
import { createSoapWriter, WSDL_ADDRESS } from "../src/supervisor/gateway/soap-writer.ts";

const marked = (name: string): string => `{{${name}}}`;
const fields = Object.keys(orderFields).map((name) => [name, marked(name)]);
const { url, headers, body } = await createSoapWriter("payment-v2", WSDL_ADDRESS).write(
  "generate",
  {
    ...Object.fromEntries(fields),
    freeData: { item: [{ key: marked("key"), value: marked("value") }] },
  },
);

const path = join(projectRoot, "src/supervisor/gateway/order-template.ts");
const pieces = body.split(/(?<=\}\}|\?>)|(?= +xmlns)|(?=<soap:Body)/);
const text = `/** Made by scripts/soap-template.ts with the \`soap\` package; not edited by hand. */
export const orderTemplate = ${JSON.stringify({ url, headers, body: pieces })};
`;
writeFileSync(path, text);
execFileSync(process.execPath, [
  join(projectRoot, "node_modules/@biomejs/biome/bin/biome"),
  "check",
  "--write",
  path,
]);
