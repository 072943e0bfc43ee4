// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

/**
 * What the page shows. Each state has an address, such as
 * #/fields/apps/Deployment/spec.replicas?ns=shop, so that links can be sent and Back works.
 * @typedef {Object} Route
 * @property {string[]} path the view, and what is picked in it
 * @property {Record<string, string>} query ns, q and the state of the grant
 */

/** @returns {Route} */
export function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { path: parts.length ? parts : ["fields"], query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** A link may come from anywhere, so a part that can't be decoded stays as it is. @param {string} part */
export function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Returns an address. What query does not name stays as it is now; "" takes a name out.
 * @param {string[]} path
 * @param {Record<string, string>} [query]
 */
export function address(path, query) {
  const all = new URLSearchParams();
  for (const [k, v] of Object.entries({ ...route().query, ...query })) if (v !== "") all.set(k, v);
  const text = all.toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (text && "?" + text);
}

/**
 * Goes to a state. What only narrows what is shown, such as a search while it is typed, replaces the
 * state, so that Back leads out of it at once.
 * @param {string[]} path
 * @param {Record<string, string>} [query]
 * @param {boolean} [replace]
 */
export function visit(path, query, replace = false) {
  const next = address(path, query);
  if (next === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", next);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
