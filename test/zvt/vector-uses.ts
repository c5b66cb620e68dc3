import { type Vector, vectors } from "./vectors.ts";

/** One way in which tests use vectors; a vector that is left out has its reason here. */
interface Use {
  readonly files: readonly string[];
  readonly only?: (vector: Vector) => boolean;
  readonly except?: Readonly<Record<string, string>>;
}

const apduFiles = [
  "apdu-ecr-to-pt",
  "apdu-status-information",
  "apdu-intermediate-status",
  "apdu-completion-abort",
  "apdu-receipts",
  "apdu-other",
] as const;

const sessionFiles = ["sessions-tcp", "sessions-serial"] as const;

const overTcp = ({ transport }: Vector): boolean => transport === "tcp";
const overSerial = ({ transport }: Vector): boolean => transport === "serial";

const noCommand = "holds no command of the register, only its answers";

export const uses = {
  /** Decoded values, and the same bytes again. */
  decode: { files: [...apduFiles, "serial-frames"] },
  "refuse-by-driver": { files: ["apdu-invalid"] },
  "refuse-by-simulator": {
    files: ["apdu-invalid"],
    only: ({ direction }) => direction === "ECR->PT",
  },
  "frame-of-driver": { files: ["serial-frames"] },
  "frame-of-simulator": { files: ["serial-frames"] },
  "bad-frame-at-driver": { files: ["serial-invalid"] },
  "bad-frame-at-simulator": { files: ["serial-invalid"] },
  "tcp-stream-at-driver": { files: ["streams"], only: overTcp },
  "serial-stream-at-driver": { files: ["streams"], only: overSerial },
  "tcp-stream-at-simulator": { files: ["streams"], only: overTcp },
  "serial-stream-at-simulator": { files: ["streams"], only: overSerial },
  "session-against-driver": { files: sessionFiles },
  "session-against-simulator": {
    files: sessionFiles,
    except: {
      "tcp-print-lines-end-of-day": noCommand,
      "tcp-print-lines-merchant-copy": noCommand,
      "tcp-print-lines-customer-copy": noCommand,
      "tcp-valina-abort": noCommand,
      "serial-print-line-acknowledged": noCommand,
    },
  },
} satisfies Readonly<Record<string, Use>>;

export type UseName = keyof typeof uses;

/** What every vector of a file has to be used for: in each list, one of the uses. */
export const required: Readonly<Record<string, readonly (readonly UseName[])[]>> = {
  ...Object.fromEntries(apduFiles.map((file) => [file, [["decode"]]] as const)),
  "apdu-invalid": [["refuse-by-driver"], ["refuse-by-simulator"]],
  "serial-frames": [["decode"], ["frame-of-driver"], ["frame-of-simulator"]],
  "serial-invalid": [["bad-frame-at-driver"], ["bad-frame-at-simulator"]],
  streams: [
    ["tcp-stream-at-driver", "serial-stream-at-driver"],
    ["tcp-stream-at-simulator", "serial-stream-at-simulator"],
  ],
  ...Object.fromEntries(
    sessionFiles.map(
      (file) => [file, [["session-against-driver"], ["session-against-simulator"]]] as const,
    ),
  ),
};

/** What a terminal sends is no input for a simulator of terminals. */
export function isNoInput(use: UseName, { direction }: Vector): boolean {
  return use === "refuse-by-simulator" && direction === "PT->ECR";
}

/** The vectors that the tests of this use take; tests take them from nowhere else. */
export function usedBy(name: UseName): readonly Vector[] {
  const { files, only = () => true, except = {} }: Use = uses[name];
  return files.flatMap(vectors).filter((vector) => only(vector) && !(vector.id in except));
}

/** Why a vector is left out, by its id. */
export function leftOut(name: UseName): Readonly<Record<string, string>> {
  const { except = {} }: Use = uses[name];
  return except;
}
