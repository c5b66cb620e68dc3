import { NOTES_CHARACTERS_MAX } from "../../src/update/release.ts";

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

/** Returns a page with the publisher in its part "publisher", which a checkout leaves open. */
export function withPublisher(page: string, version: string, publisher: Publisher): string {
  const { contact, supportedUntil, testValues } = publisher;
  const begin = '<!-- publisher: written by "npm run release" -->';
  const end = "<!-- publisher: end -->";
  const [before, rest = ""] = page.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`a page has no part between ${begin} and ${end}`);
  const test = "**Test values: nobody keeps them. Install a publisher's delivery.** ";
  const text =
    `${testValues ? test : ""}Version ${version} is supported until **${supportedUntil}**; ` +
    `the publisher's contact is ${contact.includes("://") ? `<${contact}>` : contact}.`;
  return `${before}${begin}\n\n${text}\n\n${end}${after}`;
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
