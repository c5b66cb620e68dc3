import type { GatewaySettings } from "../../src/supervisor/gateway/order-request.ts";

/** The settings of a gateway at `url`, with the changes of a test. */
export function gatewaySettings(
  url: string,
  given: Partial<GatewaySettings> = {},
): GatewaySettings {
  return {
    GATEWAY_URL: url,
    GATEWAY_TIMEOUT: 30_000,
    GATEWAY_LOGIN: "login",
    GATEWAY_PWD: "password",
    GATEWAY_WEBSITE_ID: "107",
    GATEWAY_CATEGORY_ID: "5",
    GATEWAY_RATING: "ALL",
    GATEWAY_LOCALE: "en_GB",
    GATEWAY_CUSTOMER_IP: "127.0.0.1",
    GATEWAY_CALLBACK_URL: "https://shop.example/notify",
    GATEWAY_API_KEY: undefined,
    GATEWAY_CA_FILE: undefined,
    ...given,
  };
}
