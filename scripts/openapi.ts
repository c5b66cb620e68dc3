/** Writes the OpenAPI document of the local API, for `npm run readme`; a test compares the file. */
import { writeFileSync } from "node:fs";
import { openApiFile } from "../src/tp-manager/http/calls/program-calls.ts";
import { openApiDocument } from "../src/tp-manager/http/openapi/document.ts";

writeFileSync(openApiFile, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
