import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signSums, writeSums } from "../../../scripts/release/sums.ts";
import { makeKey, openKey, type SigningKey } from "../../../scripts/updates/keys.ts";
import { Repository } from "../../../scripts/updates/repository.ts";
import { addSignatures, begin, refresh, rotate } from "../../../scripts/updates/trust.ts";

const PASSPHRASE = "correct horse battery";
const quietly = (): void => {};

/** Keys of two persons and of a machine, and root metadata that name them. */
export class ReleaseKeys {
  readonly passphrase = PASSPHRASE;
  readonly #folder: string;
  readonly #repository: Repository;

  constructor(folder: string) {
    this.#folder = folder;
    for (const name of ["anna", "ben", "cleo"]) makeKey(this.#at(name), PASSPHRASE, "p256");
    makeKey(this.#at("machine"), PASSPHRASE);
    this.#repository = new Repository(join(folder, "web"));
    const [persons, online] = [this.#pub("anna", "ben"), this.#pub("machine")];
    const keys = { root: persons, targets: persons, snapshot: online, timestamp: online };
    begin(this.#repository, { keys, thresholds: { root: 2, targets: 2 } });
    this.#publish();
  }

  /** The file of root metadata of a version. */
  root(version = 1): string {
    return join(this.#folder, "web", "metadata", `${version}.root.json`);
  }

  /** The options by which a program signs with these keys. */
  files(...names: string[]): string[] {
    return names.flatMap((name) => ["--key", this.#at(name)]);
  }

  of(...names: string[]): SigningKey[] {
    return names.map((name) => openKey(this.#at(name), PASSPHRASE));
  }

  /** Publishes root metadata 2, in which cleo is in the place of ben. */
  replaceBen(): void {
    const change = { added: this.#pub("cleo"), removed: this.#pub("ben") };
    rotate(this.#repository, { role: "targets", ...change }, quietly);
    this.#publish();
  }

  /** Writes and signs a release of these files next to the root metadata. */
  release(folder: string, files: Readonly<Record<string, string>>, ...signers: string[]): void {
    mkdirSync(folder);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    writeSums(folder);
    signSums(folder, this.of(...signers), quietly);
  }

  #publish(): void {
    addSignatures(this.#repository, this.of("anna", "ben", "cleo"), quietly);
    refresh(this.#repository, this.of("machine"), quietly);
  }

  #at(name: string): string {
    return join(this.#folder, name);
  }

  #pub(...names: string[]): string[] {
    return names.map((name) => `${this.#at(name)}.pub`);
  }
}
