/**
 * The bytes of one field of an `application/x-www-form-urlencoded` body, decoded byte for byte: the
 * digest covers bytes, so no character set may come in between. undefined: not there exactly once,
 * or badly encoded. Pure.
 */
export function formField(body: Buffer, name: string): Buffer | undefined {
  const fields = body
    .toString("latin1")
    .split("&")
    .filter((field) => field.slice(0, field.indexOf("=") + 1) === `${name}=`);
  const [only] = fields;
  return fields.length === 1 && only ? decode(only.slice(name.length + 1)) : undefined;
}

function decode(text: string): Buffer | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  const bytes = text
    .replaceAll("+", " ")
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(bytes, "latin1");
}
