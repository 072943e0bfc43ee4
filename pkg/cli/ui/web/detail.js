// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { count, el } from "./dom.js";
import { address, route, visit } from "./route.js";
import { ALL, NAMED, NO, SOME } from "./data.js";

/** What each level looks like and is called; the last is what is not known. */
export const shapes = {
  [ALL]: { box: "all", sign: "■", text: "all fields" },
  [SOME]: { box: "some", sign: "◧", text: "some fields" },
  [NAMED]: { box: "named", sign: "◇", text: "by name, or for some keys" },
  [NO]: { box: "none", sign: "·", text: "none" },
  unknown: { box: "ask", sign: "?", text: "not known" },
};

/** The namespace of the page's answers, "" for all. @param {any} data */
export const namespaceOf = data => {
  const ns = route().query.ns ?? data.s.about.namespace ?? "";
  return ns === "*" ? "" : ns;
};
/** @param {string} ns */
export const inside = ns => (ns ? "in " + ns : "in any namespace");

/** An address of a kind, and of a field of it. @param {any} kind @param {string} [path] */
export const toKind = (kind, path) => ["fields", ...kind.id.split("/"), ...(path ? [path.replace(/^\./, "")] : [])];
/** @param {any} subject @param {any} [kind] */
export const toSubject = (subject, kind) => ["people", subject.word, subject.name, ...(kind ? kind.id.split("/") : [])];

/** @param {string[]} path @param {any} text @param {Record<string, string>} [query] */
export const link = (path, text, query) => el("a", { href: address(path, query) }, text);
/** @param {any} subject */
export const subjectLink = subject => link(toSubject(subject), subject.word + " " + subject.name, { q: "" });
export const inPart = () => el("span.mark", {}, "◇ by name, or for some keys");
/** @param {string} verb */
export const badge = verb => el("code.verb", {}, verb);

/** A shape with its meaning. @param {string} sign @param {string} title */
export const mark = (sign, title) => el("span.mark", { title, role: "img", "aria-label": title }, sign);
/** The marks of a kind. @param {any} kind */
export const marks = kind => [
  kind.excluded && mark("▲", "has fields that are not part of update"),
  kind.protected?.length > 0 && mark("◆", count(kind.protected.length, "protected key")),
  kind.delegations?.length > 0 && mark("●", count(kind.delegations.length, "delegation")),
];

/** An input that narrows a list, and keeps what is typed in the address. @param {string} key of the query @param {string} label */
export function filter(key, label) {
  return el("input", {
    type: "search", placeholder: label, "aria-label": label, "data-filter": key, autocomplete: "off", spellcheck: "false",
    oninput: e => visit(route().path, { [key]: e.target.value }, true),
    onkeydown: e => {
      if (e.key === "ArrowDown" || e.key === "Enter") {
        e.target.closest(".side, .pane").querySelector(".list").focus();
        e.preventDefault();
      }
    },
  });
}

/** A table. @param {string[]} heads @param {any[][]} rows */
export const table = (heads, rows) => el("table", {}, el("tr", {}, heads.map(h => el("th", { scope: "col" }, h))),
  rows.map(r => el("tr", {}, r.map(c => el("td", {}, c)))));
/** Names, each with a text. @param {any[][]} all */
export const pairs = all => el("dl", {}, all.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));

/** What all views have: a list to pick from, a pane with what is in it, and details of what is picked there. */
export class View {
  /** @type {import("./data.js").Data} */
  data;
  ns = "";
  shown = ""; // what the details are about

  /**
   * @param {string[]} labels of the three parts
   * @param {Node[]} side what stands above the list @param {Node | null} list
   * @param {Node[]} bar what stands above the pane @param {Node[]} below
   */
  lay(labels, side, list, bar, ...below) {
    this.detail = el("section.detail", { "aria-label": labels[2], tabindex: 0 });
    this.bar = el("div.bar", {}, bar[0], el("span.grow"), bar.slice(1));
    this.pane = el("section.pane", { "aria-label": labels[1] }, this.bar, below);
    this.nodes = [el("section.side", { "aria-label": labels[0] }, el("div.bar", {}, side), list), this.pane, this.detail];
  }

  /** Takes over the data, and puts what the address says into the filters. @param {any} data */
  take(data) {
    [this.data, this.ns] = [data, namespaceOf(data)];
    for (const n of this.nodes) for (const i of /** @type {any} */ (n.querySelectorAll("[data-filter]"))) {
      const value = route().query[i.dataset.filter] ?? "";
      if (i.value !== value) i.value = value;
    }
    return { ...route(), ns: this.ns };
  }

  /** Draws the details, unless they are about that already. @param {any[]} key @param {() => (Node | string)[]} draw */
  tell(key, draw) {
    const text = key.join("\n");
    if (this.shown === text) return;
    this.shown = text;
    this.detail.replaceChildren(...draw());
    this.detail.scrollTop = 0;
  }
}

/** What is not known, said as such. @param {any} data @param {string} ns @param {any[]} [all] */
export const unknowns = (data, ns, all = data.unknown(ns)) => all.map(u =>
  el("p.unknown", {}, "? ", u.what, " can't be read", u.except?.length ? " except in " + u.except.join(", ") : "", ": ", u.why));

/** @param {any} r a rule of a role */
const rule = r => {
  const groups = (r.apiGroups ?? []).map(g => g || "core"), [group] = groups, resources = r.resources ?? [];
  const all = groups.length > 1 ? resources.join(", ") + " of " + groups.join(", ")
    : resources.map(x => (group === "core" ? x : x.replace(/^[^/]*/, y => y + "." + group))).join(", ");
  return [r.verbs?.join(", "), "on", all, r.resourceNames?.length ? "named " + r.resourceNames.join(", ") : ""].join(" ");
};

/** Where a right comes from: binding, role, rules. @param {any} data @param {any} e an entry with its cell */
export function origin(data, e) {
  const d = data.s.delegations[e.delegation], by = data.subjects[e.by], all = data.s.rules[e.rules].rules;
  const rules = [...new Set(data.s.cells[e.cell].flatMap(h => h.r))].map(i => el("li.mono", {}, rule(all[/** @type {number} */ (i)])));
  const delegation = () => ["delegation ", d.namespace < 0 ? "" : data.space(d.namespace) + "/", d.name, " of ", d.delegator,
    ", in requests that select it, or in all requests of an account that is bound to it, as far as ", d.delegator, " may",
    d.conditional && ", under conditions", d.expires && ", until " + d.expires];
  return el("li", {}, d ? delegation() : data.bindingName(e.binding) + " → " + data.roleName(e.role),
    by && el("small", {}, " to " + by.word + " " + by.name), el("ul", {}, rules));
}

/** That nobody knows which labels and annotations are protected, or which fields are excluded. @param {any} data @param {string} ns */
export const unknownLocks = (data, ns, list = "protectedattributes") => unknowns(data, ns, data.dark([list], ns));

/** A list that shows a part first. @param {any[]} all @param {(x: any) => Node} draw */
export function long(all, draw) {
  const list = el("ul", {}, all.slice(0, 100).map(draw));
  if (all.length > 100) list.append(el("li", {},
    el("button", { type: "button", onclick: () => list.replaceChildren(...all.map(draw)) }, "show all " + all.length)));
  return list;
}

/** Who may change a place. @param {any} data @param {any} kind @param {any} place @param {string} ns */
export function holders(data, kind, place, ns) {
  const all = data.holders(kind, place, ns), open = all.length <= 3, masters = data.subjects[data.s.about.masters];
  const draw = h => {
    const more = el("ul"), show = () => more.childNodes.length || more.append(...h.entries.map(e => origin(data, e)));
    if (open) show();
    return el("li", {}, el("details", { open, ontoggle: show }, el("summary", {}, subjectLink(h.subject), " ",
      h.verb < 0 ? "update" : badge(data.s.verbs[h.verb].v), h.level < 2 && inPart()), more));
  };
  const direct = all.filter(h => !h.delegated), others = all.filter(h => h.delegated);
  const dark = data.subjects.filter(x => data.entries(x, ns, true).some(e => data.s.roles[data.source(e).role]?.state === "unknown"));
  return [
    ...unknowns(data, ns),
    direct.length ? long(direct, draw) : el("p.dim", {}, data.open(ns) ? "? nobody that is known" : "nobody by a binding"),
    others.length > 0 && el("h3", {}, "through delegations"), others.length > 0 && long(others, draw),
    dark.length > 0 && el("p.unknown", {}, "? not known of ", dark.slice(0, 9).map((x, i) => [i > 0 && ", ", subjectLink(x)]),
      dark.length > 9 && " …", ": a role of theirs can't be read"),
    masters && el("p.dim", {}, "and ", subjectLink(masters), ", without a binding"),
  ].filter(Boolean);
}
