import { NOTES_CHARACTERS_MAX } from "../../src/update/release.ts";
import type { ReleaseRoot } from "./sums.ts";

/* Who publishes a delivery and until when it is supported: SECURITY.md, docs/cra.md. */

interface Publisher {
  /** An https address, or a mail address. */
  readonly contact: string;
  /** The last day of support, such as 2031-12-31. */
  readonly supportedUntil: string;
  /** Whether contact and day are test values, which nobody keeps. */
  readonly testValues: boolean;
}

/** Names that belong to nobody, so that no report would arrive there. */
const reserved = /(^|[@./])(example|test|invalid|localhost)(\.(com|net|org))?([:/]|$)/i;

/** Returns what is wrong with the options of a release; "": nothing. */
export function wrongPublisher(publisher: Publisher, builtMs: number): string {
  const { contact, supportedUntil, testValues } = publisher;
  const isAddress = /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(contact) || /^https:\/\/\S+$/.test(contact);
  if (!isAddress) return "--contact must be a mail address or an https address";
  const endMs = /^\d{4}-\d\d-\d\d$/.test(supportedUntil) ? Date.parse(supportedUntil) : Number.NaN;
  if (!(endMs > builtMs)) return "--supported-until must be a day after this version's, YYYY-MM-DD";
  if (reserved.test(contact) && !testValues) {
    return `--contact ${contact} belongs to nobody: name a contact, or add --test-values`;
  }
  return "";
}

/** What a release says about its keys. */
type Root = Omit<ReleaseRoot, "bytes">;

/** Returns a page with the publisher in its part "publisher", which a checkout leaves open. */
export function withPublisher(
  page: string,
  version: string,
  publisher: Publisher,
  root: Root,
): string {
  const { contact, supportedUntil, testValues } = publisher;
  const begin = '<!-- publisher: written by "npm run release" -->';
  const end = "<!-- publisher: end -->";
  const [before, rest = ""] = page.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`a page has no part between ${begin} and ${end}`);
  const test = "**Test values: nobody keeps them. Install a publisher's delivery.** ";
  const text =
    `${testValues ? test : ""}Version ${version} is supported until **${supportedUntil}**; ` +
    `the publisher's contact is ${contact.includes("://") ? `<${contact}>` : contact}. ` +
    `The fingerprint of its root keys, version ${root.version}, is \`${root.fingerprint}\`.`;
  return `${before}${begin}\n\n${text}\n\n${end}${after}`;
}

/** Returns the notes of a release, which lie next to its archives. */
export function releaseNotes(
  version: string,
  { contact, supportedUntil, testValues }: Publisher,
  { version: rootVersion, fingerprint }: Root,
  changes: string | undefined,
): string {
  const lines = [
    `Terminal connector ${version}, supported until ${supportedUntil}. Contact: ${contact}`,
    testValues ? "\nTEST VALUES: nobody keeps the keys of this release. Do not install it.\n" : "",
    `The fingerprint of its root keys (SHA-256 of root.json, version ${rootVersion}) is`,
    fingerprint,
    "Compare it with the one that the publisher gave you by another way than this folder. Then",
    `  sh verify-release.sh --fingerprint ${fingerprint} FILE`,
    "verifies a file of this folder. SECURITY.md says more, also for Windows.",
    ...(changes === undefined ? [] : ["", changes]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns the verify program with the values of a release, which a checkout leaves open. */
export function filledVerifier(program: string, publisher: Publisher, root: Root): string {
  const values = {
    known_fingerprint: `"${root.fingerprint}"`,
    known_root_version: String(root.version),
    has_test_values: publisher.testValues ? "yes" : "no",
  };
  return Object.entries(values).reduce((text, [name, value]) => {
    const line = new RegExp(`^${name}=.*$`, "m");
    if (!line.test(text)) throw new Error(`the verify program has no line ${name}=`);
    return text.replace(line, `${name}=${value}`);
  }, program);
}

/** Returns the section of a version in the changelog, which becomes the notes of its update. */
export function notesIn(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m);
  const section = sections.find((one) => one.startsWith(`[${version}]`));
  const notes = section?.slice(section.indexOf("\n")).trim();
  if (notes === undefined || notes.length <= NOTES_CHARACTERS_MAX) return notes;
  const most = `at most ${NOTES_CHARACTERS_MAX} characters are the notes of an update`;
  throw new Error(`the section ${version} of CHANGELOG.md has ${notes.length} characters: ${most}`);
}
