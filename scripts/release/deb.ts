import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { create } from "tar";
import { filled } from "../../src/launcher/output.ts";
import { exitCodes } from "../../src/shared/process/exit-codes.ts";
import { projectRoot } from "../../src/shared/version-files.ts";

/* The Debian package of a delivery (docs/packages.md), made without root and without dpkg. */

const NAME = "terminal-connector";
const LIB = `usr/lib/${NAME}`;
const HOME = `/var/lib/${NAME}`;
const KIBIBYTE = 1_024;
const SIZE_DIGITS = 10;

interface Package {
  readonly version: string;
  /** The contact that stands in the package's field Maintainer. */
  readonly contact: string;
  readonly cpu: "x64" | "arm64";
  readonly date: Date;
}

/** Returns the name of the package's file. */
export function debName({ version, cpu }: Pick<Package, "version" | "cpu">): string {
  return `${NAME}_${version}_${debArchitecture(cpu)}.deb`;
}

/** A tilde sorts before the end: 1.0.0~rc.1 is below 1.0.0, as 1.0.0-rc.1 is. */
const debVersion = (version: string): string => version.replace("-", "~");
const debArchitecture = (cpu: Package["cpu"]): string => (cpu === "x64" ? "amd64" : cpu);

/** Writes the package of the unpacked delivery in the folder `root` to `file`. */
export async function makeDeb(
  root: string,
  work: string,
  file: string,
  made: Package,
): Promise<void> {
  const [data, control] = [join(work, "data"), join(work, "control")];
  layOutData(root, data);
  layOutControl(control, data, made);
  const members = [
    ["debian-binary", Buffer.from("2.0\n")],
    ["control.tar.gz", await tarGz(control, join(work, "control.tar.gz"), made.date)],
    ["data.tar.gz", await tarGz(data, join(work, "data.tar.gz"), made.date)],
  ] as const;
  const parts = members.flatMap(([name, content]) => [
    memberHead(name, content.length, made.date),
    content,
    Buffer.alloc(content.length % 2, "\n"),
  ]);
  writeFileSync(file, Buffer.concat([Buffer.from("!<arch>\n"), ...parts]));
}

function layOutData(root: string, to: string): void {
  const lib = join(to, LIB);
  mkdirSync(lib, { recursive: true });
  for (const part of ["versions", "runtimes"]) {
    cpSync(join(root, part), join(lib, part), { recursive: true });
  }
  cpSync(join(root, "data", "config.example.txt"), join(lib, "config.example.txt"));
  writeFileSync(join(lib, "launch.sh"), launchScript(), { mode: 0o755 });
  mkdirSync(join(to, "usr/bin"), { recursive: true });
  symlinkSync(`../lib/${NAME}/launch.sh`, join(to, "usr/bin", NAME));
  const units = join(to, "usr/lib/systemd/system");
  mkdirSync(units, { recursive: true });
  writeFileSync(join(units, `${NAME}.service`), packageUnit());
  const papers = join(to, "usr/share/doc", NAME);
  mkdirSync(papers, { recursive: true });
  cpSync(join(projectRoot, "LICENSE"), join(papers, "copyright"));
}

function read(...path: readonly string[]): string {
  return readFileSync(join(projectRoot, ...path), "utf8");
}

/** Returns the delivery's launch.sh, with another beginning: its versions lie elsewhere. */
function launchScript(): string {
  const [head = "", tail] = read("scripts/delivery/launch.sh").split(/^(?=# A version is whole)/m);
  const [comment = ""] = head.split(/^(?=case )/m);
  if (tail === undefined) throw new Error("scripts/delivery/launch.sh has another form");
  return `${comment}${read("scripts/delivery/package/launch-head.sh")}\n${tail}`.replace(
    "unpack the delivery again",
    "apt-get install --reinstall terminal-connector",
  );
}

/** Returns the unit of the package: that of `launch.sh systemd-unit` for the service user. */
function packageUnit(): string {
  const values: Readonly<Record<string, string>> = {
    user: NAME,
    environment: "",
    command: `/${LIB}/launch.sh --foreground`,
    configuration: String(exitCodes.configuration),
    writable: `"${HOME}"`,
  };
  const template = read("src/launcher/schedule/terminal-connector.service");
  const unit = template.slice(template.indexOf("[Unit]"));
  const head = `# Of the package: changes belong into systemctl edit ${NAME}.\n\n`;
  return `${head}${filled(unit, (name) => values[name] ?? "").trimEnd()}\n`;
}

function layOutControl(to: string, data: string, made: Package): void {
  mkdirSync(to, { recursive: true });
  for (const script of ["postinst", "prerm", "postrm"]) {
    writeFileSync(join(to, script), read("scripts/delivery/package", script), { mode: 0o755 });
  }
  const files = filesIn(data).filter((path) => statSync(join(data, path)).isFile());
  const sums = files
    .filter((path) => path !== `usr/bin/${NAME}`)
    .map((path) => {
      const hash = createHash("md5")
        .update(readFileSync(join(data, path)))
        .digest("hex");
      return `${hash}  ${path}\n`;
    });
  writeFileSync(join(to, "md5sums"), sums.join(""));
  const bytes = files.reduce((sum, path) => sum + statSync(join(data, path)).size, 0);
  const fields = {
    Package: NAME,
    Version: debVersion(made.version),
    Architecture: debArchitecture(made.cpu),
    Maintainer: `The publisher <${made.contact}>`,
    "Installed-Size": String(Math.ceil(bytes / KIBIBYTE)),
    Depends: "libc6 (>= 2.28), libstdc++6, passwd, init-system-helpers",
    Recommends: "systemd",
    Section: "misc",
    Priority: "optional",
    Description:
      "card payments for kiosks\n" +
      " Takes card payments at an unattended terminal for the kiosk software of this machine.",
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
  writeFileSync(join(to, "control"), lines.join(""));
}

/** Everything below a folder, folders too: dpkg makes only folders that the archive has. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
}

/** Returns an archive in which everything is root's, and writable for root alone. */
async function tarGz(folder: string, file: string, date: Date): Promise<Buffer> {
  const options = { file, cwd: folder, portable: true, mtime: date, gzip: { level: 6 } };
  chmodSync(folder, 0o755);
  const paths = filesIn(folder);
  for (const path of paths) {
    const found = statSync(join(folder, path));
    chmodSync(join(folder, path), found.isDirectory() || found.mode & 0o111 ? 0o755 : 0o644);
  }
  await create(
    { ...options, noDirRecurse: true },
    paths.map((path) => `./${path}`),
  );
  return readFileSync(file);
}

/** The head of a member of an ar archive: fixed columns, numbers in decimal but the mode. */
function memberHead(name: string, size: number, date: Date): Buffer {
  const seconds = String(Math.floor(date.getTime() / 1_000));
  const owner = "0".padEnd(6).repeat(2);
  const columns = [name.padEnd(16), seconds.padEnd(12), owner, "100644".padEnd(8)];
  return Buffer.from(`${columns.join("")}${String(size).padEnd(SIZE_DIGITS)}\`\n`);
}
