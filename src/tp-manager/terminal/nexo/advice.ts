/*
 * Which settings to compare when a connection or a request fails (docs/administrator.md, "Pairing a
 * nexo terminal"). It is read by people, and decides nothing. Pure.
 */

const CLOCK = "check this machine's clock";
const NO_ROOT = "the terminal's certificate is signed by no root of NEXO_CA_FILE";
const NO_TLS =
  "what answers there does not speak TLS: check the address and the port in SERIAL_PORT";

/** By the code of Node.js, whose own text names what is no cure here. */
const ofConnection: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED:
    "the terminal's certificate, or its root in NEXO_CA_FILE, has expired: " +
    `${CLOCK}, then ask the maker`,
  CERT_NOT_YET_VALID: `the terminal's certificate is not valid yet: ${CLOCK}`,
  DEPTH_ZERO_SELF_SIGNED_CERT: NO_ROOT,
  SELF_SIGNED_CERT_IN_CHAIN: NO_ROOT,
  UNABLE_TO_GET_ISSUER_CERT: NO_ROOT,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NO_ROOT,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NO_ROOT,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
};

/** Returns why no connection could be made. */
export function connectionProblem({ code = "", message }: NodeJS.ErrnoException): string {
  return ofConnection[code] ?? message.trim();
}

/** By what a terminal says of a request that it cannot read (docs/nexo.md 9.2). */
const ofRefusal: readonly (readonly [RegExp, string])[] = [
  [
    /crypto error/,
    "compare NEXO_KEY_IDENTIFIER, NEXO_KEY_VERSION and NEXO_KEY_PASSPHRASE with the terminal's key",
  ],
  [/NexoBlob: Missing/, "the terminal has a key, so set NEXO_KEY_IDENTIFIER"],
  [/NexoBlob: Unexpected/, "the terminal has no key, or has not fetched it"],
  [
    /MessageHeader: a wrong or missing id|field POIID/,
    "compare NEXO_POIID with the terminal's model and serial number",
  ],
];

/** Returns a terminal's text with the settings to compare. */
export function withAdvice(said: string): string {
  const advice = ofRefusal.find(([pattern]) => pattern.test(said))?.[1];
  return advice === undefined ? said : `${said} (${advice})`;
}
