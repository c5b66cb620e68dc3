import { encodeMessage, tag } from "../../../../zvt/index.ts";
import { anyTime, type Command } from "./command.ts";

/** Tag 1B, docs/zvt.md 6.4. */
const diagnosisTypes = { line: 1, extended: 2, configuration: 3, emv: 4 } as const;
type DiagnosisType = keyof typeof diagnosisTypes;

/** Diagnosis 06 70, docs/zvt.md 6.4. Always with its type: card complete terminals require it. */
export function diagnosis(type: DiagnosisType): Command {
  return {
    name: "diagnosis",
    apdu: encodeMessage("diagnosis", { tags: [tag("diagnosisType", diagnosisTypes[type])] }),
    replies: ["status-information", ...anyTime],
    ends: "completion",
    judged: false,
  };
}
