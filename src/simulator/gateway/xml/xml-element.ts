/** One element of a document that was read, prefixes resolved. */
export interface XmlElement {
  /** Local name, without prefix. */
  readonly name: string;
  /** Namespace name, "" for none. */
  readonly namespace: string;
  /** Attributes without namespace under their name, others as `{namespace}name`. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** All character data directly inside, in order. */
  readonly text: string;
}

/** The first child with this local name, whatever its namespace. */
export function childNamed(parent: XmlElement, name: string): XmlElement | undefined {
  return parent.children.find((child) => child.name === name);
}
