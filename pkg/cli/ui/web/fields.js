// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { count, el, say } from "./dom.js";
import { List } from "./list.js";
import { route, visit } from "./route.js";
import { matches, words } from "./data.js";
import { View, badge, filter, holders, inside, link, mark, marks, toKind, unknownLocks } from "./detail.js";
import { grantButton } from "./grant.js";

/** The view of kinds, the fields of one kind, and who may change one field. */
export class Fields extends View {
  constructor() {
    super();
    this.closed = new Set(); // groups of kinds
    this.opened = new Map(); // places that were opened or closed by hand, by kind and path
    this.kinds = new List({
      role: "tree", label: "Kinds", draw: r => this.drawKind(r),
      toggle: (r, open) => { open ? this.closed.delete(r.id) : this.closed.add(r.id); this.update(this.data); },
      activate: r => {
        if (r.open !== undefined) this.kinds.o.toggle?.(r, !r.open);
        else if (r.kind) { visit(toKind(r.kind), { f: "" }); this.tree.node.focus(); }
      },
    });
    this.tree = new List({
      role: "treegrid", label: "Fields", draw: r => this.drawPlace(r),
      toggle: (r, open) => { this.opened.set(this.kind.id + r.id, open); this.update(this.data); },
      activate: r => visit(toKind(this.kind, r.id)),
    });
    this.all = el("input", { type: "checkbox", onchange: () => visit(route().path, { all: this.all.checked ? "1" : "" }, true) });
    this.title = el("h2");
    this.lay(["Kinds", "Fields", "Field"], [filter("q", "Filter kinds"), el("label", {}, this.all, " also kinds without holders")],
      this.kinds.node, [this.title, filter("f", "Filter fields and verbs")], this.tree.node);
  }

  /** Shows what the address says. @param {any} data */
  update(data) {
    const { path: [, group, name, path], query, ns } = this.take(data);
    this.all.checked = query.all === "1";
    this.kind = data.kindById.get(group + "/" + name);
    this.kinds.set(this.kindRows(words(query.q), query.all === "1"), this.kind?.id);
    if (!this.kind) {
      this.title.textContent = "";
      this.tree.o.empty = name ? "the snapshot has no kind " + name + " in " + group : "Pick a kind on the left, or search with /.";
      this.tree.set([]);
      const dark = data.s.unknown.map(u => el("p.unknown", {}, "? ", [u.what, u.of].filter(Boolean).join(" "), ": ", u.why));
      return this.tell([data.s.about.collected], () => [el("p.dim", {}, "A field shows here who may change it."), ...legend(), ...dark]);
    }
    this.title.replaceChildren(this.kind.full, " ", el("small", {}, this.kind.kind + " " + this.kind.version));
    const place = path === undefined ? null : data.place(this.kind, path);
    this.tree.set(this.placeRows(words(query.f), place), place?.path);
    this.tell([this.kind.id, path, ns, data.s.about.collected], () => (place ? this.drawDetail(place, path) : this.drawAbout()));
  }

  /** @param {string[]} q @param {boolean} all */
  kindRows(q, all) {
    const groups = new Map(), totals = this.data.totals(this.ns).kinds;
    for (const k of this.data.kinds) {
      if (!matches(k.lower, q) || (!all && !q.length && !totals[k.i] && k !== this.kind)) continue;
      const g = k.group || "core";
      groups.has(g) ? groups.get(g).push(k) : groups.set(g, [k]);
    }
    const rows = [...groups.keys()].sort().flatMap(g => {
      const open = q.length > 0 || !this.closed.has("group " + g), below = open ? groups.get(g) : [];
      return [{ id: "group " + g, level: 1, open, text: g }, ...below.map(k => ({ id: k.id, level: 2, kind: k, total: totals[k.i] }))];
    });
    const dark = this.data.s.unknown.filter(u => u.what.startsWith("kind") && matches((u.of ?? "").toLowerCase(), q));
    return [...rows, ...dark.map(u => ({ id: "unknown " + u.of, level: 1, text: "? " + (u.of ?? "kinds") + ": " + u.why, dark: true }))];
  }

  /** @param {any} r */
  drawKind(r) {
    if (!r.kind) return [el("span." + (r.dark ? "unknown" : "group"), { title: r.text }, r.text)];
    return [el("span" + (r.total ? "" : ".faint"), {}, r.kind.kind), el("span", {}, marks(r.kind))];
  }

  /** The rows of the tree: what is open, or what is filtered with its parents. @param {string[]} q @param {any} picked */
  placeRows(q, picked) {
    const places = this.data.places(this.kind), counts = this.data.counts(this.kind, this.ns), rows = [];
    const shown = q.length ? new Set() : null, at = places.indexOf(picked);
    if (shown) {
      const parents = [];
      for (const p of places) {
        parents.length = p.level;
        parents.push(p);
        p.lower ??= (p.path + " " + (p.field.o ?? []).map(v => this.data.s.verbs[v].v).join(" ")).toLowerCase();
        if (matches(p.lower, q)) parents.forEach(x => shown.add(x));
      }
    }
    for (let i = 1; i < places.length; i++) {
      const p = places[i];
      if (shown && !shown.has(p)) { i += p.below; continue; }
      const first = p.level === 1 && (p.below < 60 || p.name === "spec"), open = p.below > 0
        ? shown !== null || (this.opened.get(this.kind.id + p.path) ?? (first || (at > i && at <= i + p.below))) : undefined;
      rows.push({ id: p.path, level: p.level, open, place: p, count: counts[i] });
      if (open === false) i += p.below;
    }
    return rows;
  }

  /** @param {any} r */
  drawPlace(r) {
    const { field, name, path } = r.place, d = this.data, faint = field.rest || !r.count ? ".faint" : "";
    const locks = (this.kind.protected ?? []).filter(p => path === ".metadata." + d.s.protected[p].field).length;
    return [
      el("span.mono" + faint, {}, name, field.x && mark("▲", "not part of update")),
      el("span", {}, (field.o ?? []).slice(-2).map(v => badge(d.s.verbs[v].v)),
        locks > 0 && mark("◆" + locks, count(locks, "protected key"))),
      el("small", { title: count(r.count, "holder") }, field.y ? "server" : (r.count ? "" : data0(d, this.ns)) + (r.count || "")),
    ];
  }

  drawAbout() {
    const k = this.kind, d = this.data;
    const text = d.s.texts[d.s.fields[k.root].d ?? 0];
    return [el("h2", {}, k.kind), text && el("p", {}, text), el("h3", {}, "changed through"),
      el("ul", {}, k.parts.map(p => el("li", {}, el("code", {}, k.full + (p.name ? "/" + p.name : "")),
        p.kind && " with objects of kind " + p.kind))),
      el("p", {}, link(["people"], "Who has rights on it", { k: k.resource, q: "" })), ...legend()].filter(Boolean);
  }

  /** @param {any} place @param {string} asked */
  drawDetail(place, asked) {
    const d = this.data, { field } = place, ns = this.ns, path = "." + asked.replace(/^\./, "");
    const verbs = (field.c ?? []).map(v => d.s.verbs[v]);
    const parts = place.ways.filter(w => w.part > 0).map(w => this.kind.full + "/" + this.kind.parts[w.part].name);
    const text = d.s.texts[field.d ?? 0], closed = field.y ? [] : unknownLocks(d, "", "fieldpermissions"),
      update = field.x ? el("strong.mark", {}, "▲ not part of update") : closed.length ? "? may be part of update" : "part of update";
    const locks = d.locks(this.kind, ns).filter(p => place.path.startsWith(".metadata." + p.field));
    say(path + ": " + count(d.holders(this.kind, place, ns).length, "holder") + " " + inside(ns));
    return [
      el("h2.mono", {}, path === "." ? "the whole object" : path),
      el("p", {}, field.t, field.t && " · ", field.y ? "only the server writes it" : update,
        parts.length > 0 && " · through " + parts.join(", ")), ...closed,
      text && el("p.dim", {}, text),
      !field.y && (verbs.length ? el("h3", {}, "one of, with the verb granular, most general first")
        : el("p.dim", {}, "No permission covers it: only update changes it.")),
      verbs.length > 0 && el("ul", {}, verbs.map(v => el("li", {}, badge(v.v)))),
      ...(/^\.metadata\.(labels|annotations)/.test(place.path) ? unknownLocks(d, ns) : []),
      locks.length > 0 && el("h3", {}, "◆ protected"),
      locks.length > 0 && el("ul", {}, locks.map(p => el("li", {}, el("code", {}, p.key),
        p.values?.length ? " with the values " + p.values.join(", ") : "", p.namespace < 0 ? "" : " in " + d.space(p.namespace),
        " also needs ", p.verb ? badge(p.verb) : p.roleText))),
      !field.y && el("h3", {}, "who may, " + inside(this.kind.namespaced ? ns : "")),
      ...(field.y ? [] : holders(d, this.kind, place, ns)),
      !field.y && el("div.actions", {}, grantButton([{ kind: this.kind, path: place.path }], []),
        ns !== "" && this.kind.namespaced && link(route().path, "Who else, in all namespaces", { ns: "*" })),
    ].filter(Boolean);
  }
}

/** What stands where nobody is counted. @param {any} data @param {string} ns */
const data0 = (data, ns) => (data.open(ns) ? "?" : "0");

const legend = () => [el("h3", {}, "signs"), el("ul", {}, el("li", {}, el("span.mark", {}, "▲"), " excluded: not part of update"),
  el("li", {}, el("span.mark", {}, "◆"), " protected label or annotation"),
  el("li", {}, el("span.mark", {}, "●"), " changed through a delegation"), el("li", {}, "? not known: it could not be read"))];
