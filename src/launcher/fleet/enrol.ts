import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { withSetting } from "../../shared/config/config-edit.ts";
import { sharedFields } from "../../shared/config/schema.ts";
import { type ExclusiveLock, takeExclusiveLock } from "../../shared/process/exclusive-lock.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { resultOf } from "../../shared/store/storage-fault.ts";
import { readJsonIfWhole, replaceSynced } from "../../shared/store/store-file.ts";
import type { LauncherArguments } from "../arguments.ts";
import { type CommandContext, filled } from "../output.ts";
import texts from "../texts-en.json" with { type: "json" };
import {
  type Authority,
  authorityIn,
  issue,
  newLogin,
  REPLACED_MS,
  writeOwn,
} from "./authority.ts";
import { hostOf, readers, writeBrokerFiles } from "./broker-files.ts";
import { readKioskList, type Settings } from "./kiosk-list.ts";

const says = texts.fleet;

/** Who has access: from it the broker's files are made again at each run. */
const recordSchema = z.object({
  format: z.literal(1),
  broker: z.string(),
  kioskFolder: z.string(),
  /** Whether the kiosks prove themselves by certificates, and not by passwords. */
  certificates: z.boolean(),
  members: z.array(
    z.object({
      id: z.string(),
      hash: z.string().optional(),
      serial: z.string().optional(),
      endsMs: z.number().optional(),
      /** The serials of its certificates that were replaced, each valid until its own end. */
      replaced: z.array(z.string()).optional(),
    }),
  ),
  revoked: z.array(z.string()),
});
type Member = Omit<z.infer<typeof recordSchema>["members"][number], "id">;

/**
 * Gives each kiosk of a list its access to the fleet's broker (docs/fleet.md 2.4): what exists is
 * kept. Throws {@link ProgramExit} if nothing was done. No secret is printed.
 */
export function enrol({ output, clock }: CommandContext, given: LauncherArguments): number {
  const { file } = given;
  if (file === undefined || !statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw misused(says.file);
  }
  const { kiosks, unused } = readKioskList(file);
  const folder = resolve(given.into ?? join(dirname(file), "enrolled"));
  let lock: ExclusiveLock | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    lock = takeExclusiveLock(join(folder, "enrol.lock"), 0);
    if (!lock) throw new ProgramExit(exitCodes.alreadyRunning, says.running);
    const enrolment = new Enrolment(folder, given, clock.now());
    const counts = enrolment.take(kiosks, given);
    const { host, formerHost, endsPasswords } = enrolment;
    const values: Readonly<Record<string, unknown>> = {
      ...counts,
      unused: unused.join(", "),
      folder,
      host,
      formerHost,
    };
    const print = (text: string): string => filled(text, (name) => String(values[name]));
    output.row("kiosks", "good", "enrolled", print(says.counts));
    if (unused.length > 0) output.note(print(says.unused));
    if (counts.missing > 0) output.note(print(says.missing));
    if (host !== formerHost) output.note(print(says.moved));
    if (endsPasswords) output.note(print(says.passwords));
    if (counts.revoked > 0) output.note(print(says.revoked));
    output.note(print(says.next));
  } catch (error) {
    // A full disk, or a folder that this user may not write: what was done so far is kept.
    if (!("syscall" in (error as Error)) && resultOf(error) === 0) throw error;
    const why = `${folder} cannot be written: ${(error as Error).message}`;
    throw new ProgramExit(exitCodes.unavailable, why);
  } finally {
    lock?.release();
  }
  return exitCodes.ok;
}

/** Returns the serials of all certificates of a member that were not revoked. */
function serialsOf({ serial, replaced = [] }: Member = {}): string[] {
  return serial === undefined ? replaced : [...replaced, serial];
}

const misused = (text: string): ProgramExit => new ProgramExit(exitCodes.usage, text);

/** What has to be kept, of which all files or none are there. */
const KEPT = ["ca.key", "ca.pem", "enrolment.json"];

/** The access of all kiosks, in one folder. */
class Enrolment {
  readonly #folder: string;
  readonly #nowMs: number;
  readonly #record: Omit<z.infer<typeof recordSchema>, "members">;
  readonly #members: Map<string, Member>;
  readonly #authority: Authority & { readonly pem?: string };
  readonly host: string;
  /** The host for which the broker's certificate was made before. */
  readonly formerHost: string;
  /** Whether the broker accepted passwords before. */
  readonly endsPasswords: boolean;

  constructor(folder: string, given: LauncherArguments, nowMs: number) {
    [this.#folder, this.#nowMs] = [folder, nowMs];
    // The broker's files are written last: there are none without all that has to be kept.
    const isNew = !["broker", ...KEPT].some((name) => existsSync(join(folder, name)));
    const known = readJsonIfWhole(join(folder, "enrolment.json"), recordSchema);
    if (!isNew && !(known && KEPT.every((name) => existsSync(join(folder, name))))) {
      throw new ProgramExit(
        exitCodes.configuration,
        filled(says.incomplete, () => folder),
      );
    }
    const broker = given.broker ?? known?.broker ?? "";
    const isSafe = /^(mqtts|wss):/.test(broker) && sharedFields.FLEET_URL.safeParse(broker).success;
    if (!isSafe) throw misused(says.broker);
    const kioskFolder = given["kiosk-folder"] ?? known?.kioskFolder ?? "/etc/kiosk";
    if (!/^([A-Za-z]:)?[\\/]/.test(kioskFolder)) throw misused(says.kioskFolder);
    const certificates = given.certificates || known?.certificates === true;
    const revoked = known?.revoked ?? [];
    [this.host, this.formerHost] = [hostOf(broker), hostOf(known?.broker ?? broker)];
    this.endsPasswords = certificates && known?.certificates === false;
    this.#record = { format: 1, broker, kioskFolder, certificates, revoked };
    this.#members = new Map(known?.members.map(({ id, ...member }) => [id, member]));
    const name = `Fleet of ${this.host}`;
    this.#authority = isNew ? issue("authority", name, nowMs) : authorityIn(folder);
  }

  take(kiosks: ReadonlyMap<string, Settings>, { renew, revoke }: LauncherArguments) {
    const counts = { added: 0, renewed: 0, kept: 0, revoked: 0, missing: 0 };
    const wanted = new Map<string, Settings>([...readers.keys()].map((id) => [id, []]));
    for (const [id, settings] of kiosks) wanted.set(id, settings);
    if (renew !== undefined && !wanted.has(renew)) throw misused(says.renew);
    const left = [...this.#members].filter(([id, { serial }]) => !serial && !wanted.has(id));
    if (this.#record.certificates && left.length > 0 && !revoke) throw misused(says.left);
    for (const [id, settings] of wanted) {
      const known = this.#members.get(id);
      const isKept = id !== renew && known !== undefined && this.#isGood(known);
      if (isKept) this.#update(id, settings);
      else this.#members.set(id, this.#issue(id, settings, id === renew ? undefined : known));
      if (id === renew) this.#record.revoked.push(...serialsOf(known));
      if (!readers.has(id)) counts[isKept ? "kept" : known ? "renewed" : "added"]++;
    }
    for (const [id, member] of this.#members) {
      if (wanted.has(id)) continue;
      counts[revoke ? "revoked" : "missing"]++;
      if (!revoke) continue;
      this.#record.revoked.push(...serialsOf(member));
      this.#members.delete(id);
      rmSync(this.#folderOf(id), { recursive: true, force: true });
    }
    this.#save();
    return counts;
  }

  /** Writes the record after the files of the kiosks, and then the broker's files from it. */
  #save(): void {
    const { pem, certificate } = this.#authority;
    if (pem !== undefined) {
      writeOwn(join(this.#folder, "ca.key"), pem);
      writeOwn(join(this.#folder, "ca.pem"), certificate);
    }
    const members = [...this.#members].map(([id, member]) => ({ id, ...member }));
    const record = JSON.stringify({ ...this.#record, members }, null, 1);
    replaceSynced(join(this.#folder, "enrolment.json"), record);
    const access = { ...this.#record, members: this.#members };
    writeBrokerFiles(join(this.#folder, "broker"), access, this.#authority, this.#nowMs);
  }

  #isGood({ hash, endsMs = 0 }: Member): boolean {
    return this.#record.certificates ? endsMs > this.#nowMs + REPLACED_MS : hash !== undefined;
  }

  #folderOf(id: string): string {
    return join(this.#folder, readers.has(id) ? "readers" : "kiosks", id);
  }

  /** Makes the files of a kiosk, and returns what the broker has to know of them. */
  #issue(id: string, settings: Settings, known: Member | undefined): Member {
    const folder = this.#folderOf(id);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeOwn(join(folder, "fleet-ca.pem"), this.#authority.certificate);
    if (!this.#record.certificates) {
      const { password, hash } = newLogin();
      this.#write(id, "", [["FLEET_USER", id], ["FLEET_PASSWORD", password], ...settings]);
      return { hash };
    }
    const { pem, certificate, serial, endsMs } = issue("client", id, this.#nowMs, this.#authority);
    writeOwn(join(folder, "fleet.key"), pem);
    writeOwn(join(folder, "fleet.pem"), certificate);
    this.#write(id, "", settings);
    return { serial, endsMs, replaced: serialsOf(known) };
  }

  /** Brings the settings of a kiosk up to date, if its file was not removed after its use. */
  #update(id: string, settings: Settings): void {
    const file = join(this.#folderOf(id), "fleet.txt");
    if (existsSync(file)) this.#write(id, readFileSync(file, "utf8"), settings);
  }

  #write(id: string, before: string, settings: Settings): void {
    const { broker, kioskFolder: at, certificates } = this.#record;
    const shared: Settings = [
      ["FLEET_URL", broker],
      ["FLEET_CA_FILE", `${at}/fleet-ca.pem`],
      ["FLEET_CERT_FILE", certificates ? `${at}/fleet.pem` : ""],
      ["FLEET_KEY_FILE", certificates ? `${at}/fleet.key` : ""],
    ];
    let text = before;
    for (const [name, value] of [...shared, ...settings]) text = withSetting(text, name, value);
    if (text !== before) writeOwn(join(this.#folderOf(id), "fleet.txt"), text);
  }
}
