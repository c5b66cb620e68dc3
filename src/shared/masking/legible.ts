/** Matches a text without control characters, line separators and bidirectional marks. */
export const plainForm = /^[^\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u;

/** Matches a text with at least one letter or digit. */
export const readableForm = /[\p{L}\p{N}]/u;

/** The longest name of a person in lists and logs, in characters. */
export const NAME_CHARACTERS_MAX = 80;
