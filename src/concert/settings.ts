/**
 * Settings that the drivers of this family share, as plain facts: each driver makes its part of the
 * setup file of them, so that one name means one thing.
 */
export const familySettings = {
  CONCERT_REGISTER: {
    form: /^[0-9A-Z]{2}$/,
    fault: "must be two digits or capital letters",
    default: "01",
    help: "Number of this register, as the terminal may expect it.",
    example: "02",
  },
  CONCERT_LINE: {
    values: ["7E1", "8N1"],
    help:
      "Data bits, parity and stop bits of a serial line; 7E1, and 8N1 for usb: names and the " +
      "profile pax-nepting.",
    example: "8N1",
  },
  CONCERT_PROFILE: {
    values: ["standard", "pax-nepting", "ingenico-desk5000"],
    default: "standard",
    help: "Terminal whose peculiarities are to be followed.",
    example: "pax-nepting",
  },
} as const;

type ConcertLine = (typeof familySettings.CONCERT_LINE.values)[number];
type ConcertProfile = (typeof familySettings.CONCERT_PROFILE.values)[number];

/** docs/concert.md 2.1: what a line is opened with where the setup file does not say. */
export function lineOf(
  given: ConcertLine | undefined,
  profile: ConcertProfile,
  address: string,
): { readonly dataBits: 7 | 8; readonly parity: "even" | "none" } {
  const isUsb = address.startsWith("usb:") || address.startsWith("/dev/ttyACM");
  const line = given ?? (isUsb || profile === "pax-nepting" ? "8N1" : "7E1");
  return line === "7E1" ? { dataBits: 7, parity: "even" } : { dataBits: 8, parity: "none" };
}

/** docs/concert.md 2.5; how long the line is silent before anything more is done. */
export const sessionTimes = {
  answerMs: 3_000,
  pauseMs: 1_000,
  holdMs: 2_000,
  silenceMs: 3_000,
  quietMs: 300,
} as const;

/** The line is opened again soon, because a result may come on it. */
export const lineReconnect = { minMs: 500, maxMs: 5_000 } as const;
