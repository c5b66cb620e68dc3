import { sharedFields } from "../../../src/shared/config/schema.ts";
import { installationAt } from "../../../src/shared/process/installation.ts";
import { Care, type CareParts } from "../../../src/tp-manager/http/care/care.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** The care of an empty data folder. */
export function careForTest(
  folder = temporaryFolder(),
  more: Pick<CareParts, "launcher" | "isUpdated"> = {},
): Care {
  return new Care({ installation: installationAt(folder), fields: sharedFields, ...more });
}
