/** Text without control characters, line separators and bidirectional marks. */
export const plainForm = /^[^\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u;

/** Something that a person can read. */
export const readableForm = /[\p{L}\p{N}]/u;

/** A person's name in lists and logs. */
export const NAME_CHARACTERS_MAX = 80;
