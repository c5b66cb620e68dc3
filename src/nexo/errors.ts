/** Why a text cannot be read as a message, or a value cannot be written into one. */
type NexoFaultCode =
  /** The text is no JSON object. */
  | "json"
  /** A member is missing or has an invalid value, or the message has another body than expected. */
  | "shape"
  /** The message is not protected, although both sides have a key. */
  | "clear"
  /** The message is protected, and no key is known here. */
  | "protected"
  /** The message was protected by another version of the protection. */
  | "protection-version"
  /** The message names another key, by its identifier or its version. */
  | "key"
  /** The message was changed, or the passphrases differ; on purpose not said in more detail. */
  | "not-genuine"
  /** The header that stands outside of the protection is not the header inside. */
  | "header"
  /** The passphrase is empty or has characters other than printable ASCII. */
  | "passphrase";

/** The only error that the codec throws. */
export class NexoCodecError extends Error {
  override readonly name = "NexoCodecError";
  readonly code: NexoFaultCode;

  constructor(code: NexoFaultCode, message: string) {
    super(message);
    this.code = code;
  }
}
