import { sharedFields } from "../../../src/shared/config/schema.ts";
import { installationAt } from "../../../src/shared/program/installation.ts";
import { Maintenance } from "../../../src/tp-manager/http/maintenance/maintenance.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";

/** Maintenance of an empty data folder. */
export function maintenanceForTest(
  folder = temporaryFolder(),
  more: Partial<ConstructorParameters<typeof Maintenance>[0]> = {},
): Maintenance {
  return new Maintenance({ installation: installationAt(folder), fields: sharedFields, ...more });
}
