/** A good value for every name that some program requires. */
const required = {
  SERIAL_PORT: "/dev/ttyUSB0",
  LOCAL_PORT: "8765",
  TERMINAL_MANAGER_LOGIN: "kiosk",
  TERMINAL_MANAGER_PWD: "let me in",
  GATEWAY_URL: "https://gateway.example",
  GATEWAY_LOGIN: "12345.gateway.example",
  GATEWAY_PWD: "Test_abcdefghijklmnopqrstuvwx",
  GATEWAY_WEBSITE_ID: "123456",
  GATEWAY_CATEGORY_ID: "42",
  GATEWAY_CALLBACK_URL: "https://shop.example/notify",
  UPDATE_TIME: "03:30",
} as const;

/** A setup file, complete but for what `changes` replaces or (undefined) leaves out. */
export function setupText(changes: Readonly<Record<string, string | undefined>> = {}): string {
  return Object.entries({ ...required, ...changes })
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}\n`]))
    .join("");
}
