// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { byId, el, say } from "./dom.js";
import { List } from "./list.js";
import { address, route, visit } from "./route.js";
import { Data, matches, words } from "./data.js";
import { ask, file, load } from "./answers.js";
import { namespaceOf, pairs, toKind, toSubject } from "./detail.js";
import { Grant } from "./grant.js";
import { Fields } from "./fields.js";
import { People } from "./people.js";
import { Denials } from "./denials.js";
import { Tenants } from "./tenants.js";

const views = { fields: new Fields(), people: new People(), denials: new Denials(), tenants: new Tenants() };
const grant = new Grant(), main = byId("main");
/** @type {Data} */
let data;

/** What can be searched: kinds, people and fields, made when the search is first used. */
const index = () => data.once("index", () => [
  ...data.kinds.map(k => ({ id: "k" + k.i, type: "kind", text: k.full + " " + k.kind, lower: k.lower, path: toKind(k) })),
  ...(data.s.tenants ?? []).map(t => ({ id: "t" + t.name, type: "tenant", text: t.name, lower: t.name, path: ["tenants", t.name] })),
  ...data.subjects.map(x => ({ id: "s" + x.i, type: x.word, text: x.name, lower: x.lower, path: toSubject(x) })),
  ...data.kinds.flatMap(k => data.places(k).slice(1).map(p => ({
    id: k.id + p.path, type: k.kind, text: p.path + " " + (p.field.o ?? []).map(v => data.s.verbs[v].v).join(" "),
    path: toKind(k, p.path),
  }))).map(x => ({ ...x, lower: (x.type + " " + x.text).toLowerCase() })),
]);

const hits = new List({
  role: "listbox", label: "Found", draw: r => [el("span.mono", {}, r.text), el("small", {}, r.type)],
  activate: r => { search.value = ""; box.hidden = true; visit(r.path, { q: "", f: "", k: "" }); focusView(); },
});
const box = el("div.hits", { hidden: true }, hits.node);
const search = el("input", {
  type: "search", id: "search", placeholder: "field, verb, resource, subject ( / )",
    "aria-label": "Search fields, verbs, resources and subjects", autocomplete: "off", spellcheck: "false",
  role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list",
  oninput: () => {
    const q = words(search.value), found = [];
    for (const x of q.length ? index() : []) if (matches(x.lower, q) && found.push(x) >= 500) break;
    box.hidden = !q.length;
    search.setAttribute("aria-expanded", String(!box.hidden));
    hits.set(found, "");
    if (q.length) say(found.length >= 500 ? "500 found or more" : found.length + " found");
  },
  onkeydown: e => {
    if (!box.hidden && ["ArrowDown", "ArrowUp", "Enter", "PageDown", "PageUp"].includes(e.key)) hits.key(e, true);
    search.setAttribute("aria-activedescendant", hits.node.getAttribute("aria-activedescendant") ?? "");
  },
});
const space = el("select", { "aria-label": "Namespace", onchange: () => visit(route().path, { ns: space.value }) });
const who = el("span.dim"), name = el("h1");
const again = !file && el("button", { type: "button", title: "Collect anew", "aria-label": "Collect anew",
  onclick: () => start(signal => ask("snapshot", {}, signal)) }, "⟳");
const help = el("dialog", { "aria-label": "Keys" }, el("h2", {}, "Keys"), pairs([
  ["/", "search"], ["1 2 3 4", "fields, people, denials, tenants"], ["↑ ↓ ← →", "move; open and close in a tree"],
  ["Home End", "first, last"], ["Enter", "open"], ["Tab", "next part of the page"],
  ["Alt ←", "back"], ["Esc", "close, leave the search"], ["?", "this list"],
].map(([k, t]) => [el("kbd", {}, k), t])),
  el("button", { type: "button", onclick: () => help.close() }, "Close"));
const theme = el("button", { type: "button", title: "Light or dark", "aria-label": "Light or dark", onclick: () => {
  const root = document.documentElement.dataset;
  root.theme = (root.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark" ? "light" : "dark";
} }, "◐");
const tabs = Object.fromEntries(Object.keys(views).map(v => [v, el("a", {}, v[0].toUpperCase() + v.slice(1))]));

/** Reports whether there is such a view: a cluster without the kind has no tenants. @param {string} v */
const has = v => Object.hasOwn(views, v) && (v !== "tenants" || data?.s.about.tenants);

/** Another view begins without filters. */
const fresh = { q: "", f: "", k: "", all: "", grant: "", picks: "", who: "", names: "" };

/** The list that a view is used by. */
const focusView = () => /** @type {HTMLElement} */ (main.querySelector(".pane .list"))?.focus();

/** Shows what the address says. */
function show() {
  if (!data) return;
  const id = has(route().path[0]) ? route().path[0] : "fields", view = views[id], ns = namespaceOf(data);
  if (main.dataset.view !== id) {
    main.dataset.view = id;
    main.replaceChildren(...view.nodes);
  }
  for (const [tab, link] of Object.entries(tabs)) {
    link.href = address([tab], fresh);
    link.hidden = !has(tab);
    tab === id ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  const open = views.denials.listed(data).length;
  tabs.denials.textContent = "Denials" + (open ? " " + open : "");
  space.value = ns || "*";
  view.update(data);
  grant.update(data);
}

/** Takes over a snapshot. @param {any} snapshot */
function take(snapshot) {
  const begin = performance.now();
  data = new Data(snapshot);
  const { about } = snapshot, ns = namespaceOf(data);
  name.replaceChildren("kube-granular ", el("small", {}, about.context || about.cluster));
  name.title = about.cluster;
  who.replaceChildren(about.user ? "as " + about.user + " " : "",
    el("span", { title: about.collected }, (about.collected ?? "").slice(11, 19)));
  space.replaceChildren(el("option", { value: "*" }, "all namespaces"),
    ...[...new Set([...snapshot.namespaces, ns])].filter(Boolean).map(n => el("option", { value: n }, n)));
  show();
  performance.measure("first", { start: begin });
}

/** Loads data; it takes seconds on a large cluster, and can be cancelled. @param {(signal: AbortSignal) => Promise<any>} question */
async function start(question) {
  const stop = new AbortController(), old = data;
  main.dataset.view = "";
  main.replaceChildren(el("div.loading", { role: "status" }, el("p", {}, "Collecting kinds, roles and bindings …"),
    !file && el("button", { type: "button", onclick: () => stop.abort() }, "Cancel")));
  try {
    take(await question(stop.signal));
  } catch (e) {
    if (old) show();
    const text = stop.signal.aborted ? "cancelled" : e instanceof Error ? e.message : String(e);
    if (!old) main.replaceChildren(el("div.loading", { role: "alert" }, el("p.no", {}, "✕ " + text),
      !file && el("button", { type: "button", onclick: () => start(load) }, "Try again")));
    say(text);
  }
}

/** Follows the audit log. */
async function follow() {
  if (data?.s.about.denials && document.visibilityState === "visible") {
    try {
      const { denials, more } = await ask("denials"), keys = all => all.map(d => d.key + d.count).join();
      const news = keys(denials) !== keys(data.s.denials);
      data.s.denials = denials;
      data.more = more;
      if (news) show();
    } catch { /* the next turn may reach the server again */ }
  }
  setTimeout(follow, 5000);
}

byId("head").append(name, space, who, el("div.search", {}, search, box), theme, ...(again ? [again] : []));
byId("tabs").append(...Object.values(tabs));
document.body.append(grant.node, help);
addEventListener("hashchange", show);
addEventListener("pointerdown", e => { if (!box.parentElement?.contains(/** @type {Node} */ (e.target))) box.hidden = true; });
addEventListener("keydown", e => {
  const typing = /** @type {HTMLElement} */ (e.target).closest?.("input, textarea, select");
  if (e.key === "Escape" && e.target === search) { search.value = ""; box.hidden = true; focusView(); return; }
  if (typing || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  const view = Object.keys(views).filter(has)[Number(e.key) - 1];
  if (e.key === "/") search.focus();
  else if (e.key === "?") help.showModal();
  else if (view) { visit([view], fresh); focusView(); } else return;
  e.preventDefault();
});
if (!file) setTimeout(follow, 5000);
await start(load);
