// A kiosk's own page: it pays and listens with our client.

import { ConnectorClient } from "./client.js";

window.session = async (options, orderId) => {
  const client = new ConnectorClient(options);
  const paid = await client.pay({ amount: 9, orderId });
  const again = await client.pay({ amount: 9, orderId });
  const stop = new AbortController();
  const states = [];
  for await (const { name, data } of client.events({ signal: stop.signal, afterId: 0 })) {
    if (name !== "payment" || data.orderId !== orderId) continue;
    states.push(data.state);
    if (data.state === "charged") break;
  }
  stop.abort();
  const { cr } = await client.check();
  // The header Prefer is one that the browser asks the API about first.
  const found = await client.payment(orderId, undefined, 30);
  return { paid: paid.status, replayed: again.replayed, states, cr, found: found?.status };
};
