import { appendFileSync } from "node:fs";
import { sharedFields } from "../../../src/shared/config/schema.ts";
import { installationAt } from "../../../src/shared/program/installation.ts";
import { Maintenance } from "../../../src/tp-manager/http/maintenance/maintenance.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

/** Maintenance of a data folder with a setup file: the file that is there, or an empty one. */
export function maintenanceForTest(
  folder = temporaryFolder(),
  more: Partial<ConstructorParameters<typeof Maintenance>[0]> = {},
): Maintenance {
  const installation = installationAt(folder);
  appendFileSync(installation.configFile, "");
  return new Maintenance({ installation, fields: sharedFields, ...more });
}
