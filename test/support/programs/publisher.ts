import { createReadStream, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { makeKey, openKey } from "../../../scripts/updates/keys.ts";
import { addRelease } from "../../../scripts/updates/releases.ts";
import { Repository } from "../../../scripts/updates/repository.ts";
import { addSignatures, begin, refresh } from "../../../scripts/updates/trust.ts";

const PASSPHRASE = "correct horse battery";
const quietly = (): void => {};

/** A repository made by the publisher's own tool, on a plain web server that knows no ranges. */
export class Publisher {
  readonly #folder: string;
  readonly #repository: Repository;

  constructor(folder: string) {
    mkdirSync(folder);
    this.#folder = folder;
    this.#repository = new Repository(join(folder, "web"));
    for (const name of ["anna", "ben", "machine"]) makeKey(join(folder, name), PASSPHRASE);
    const [anna, ben, machine] = ["anna", "ben", "machine"].map((name) => this.#pub(name));
    const persons = [anna, ben] as string[];
    const online = [machine] as string[];
    const keys = { root: persons, targets: persons, snapshot: online, timestamp: online };
    begin(this.#repository, { keys, thresholds: { root: 2, targets: 2 } });
    this.#sign();
  }

  get trustedRoot(): string {
    return join(this.#repository.folder, "metadata", "1.root.json");
  }

  /** The folder that the server gives out. */
  get web(): string {
    return this.#repository.folder;
  }

  /** The delivery's runtime is one that kiosks have; packing a real one takes seconds. */
  async publish(delivery: string): Promise<void> {
    const [runtime] = readdirSync(join(delivery, "runtimes"));
    const node = join(delivery, "runtimes", runtime ?? "", "node");
    rmSync(node);
    writeFileSync(node, "elf");
    await addRelease(this.#repository, {
      from: delivery,
      channel: "stable",
      share: 100,
      follows: "0.0.0",
      notes: "",
      notBefore: "2026-01-01T00:00:00Z",
    });
    this.#sign();
  }

  /** The address of the repository; `end` gets a function that ends the server. */
  async serve(end: (close: () => void) => void): Promise<string> {
    const server = createServer((request, response) => {
      const path = decodeURIComponent(request.url ?? "");
      createReadStream(join(this.#repository.folder, path))
        .on("error", () => response.writeHead(404).end())
        .pipe(response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    end(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  #pub(name: string): string {
    return `${join(this.#folder, name)}.pub`;
  }

  #sign(): void {
    const keys = (...names: string[]) =>
      names.map((name) => openKey(join(this.#folder, name), PASSPHRASE));
    addSignatures(this.#repository, keys("anna", "ben"), quietly);
    refresh(this.#repository, keys("machine"), quietly);
  }
}
