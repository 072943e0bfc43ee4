// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { count, el, say } from "./dom.js";
import { List } from "./list.js";
import { visit } from "./route.js";
import { find } from "./data.js";
import { View, filter, link, mark, pairs, table, toSubject, unknowns } from "./detail.js";

const ends = { soon: "ends within a week", ended: "has ended" };

/** The view of tenants: all of them, and of one who is in it, who pays, who asks for sudo, and what is left over. */
export class Tenants extends View {
  constructor() {
    super();
    this.list = new List({
      role: "grid", label: "Tenants", empty: "no tenant matches", draw: r => this.drawRow(r.t), activate: r => visit(["tenants", r.id]),
    });
    this.title = el("h2");
    this.notes = el("div");
    this.lay(["About tenants", "Tenants", "Tenant"], [this.notes], null, [this.title, filter("q", "Filter tenants")], this.list.node);
  }

  /** Shows what the address says. @param {any} data */
  update(data) {
    const { path: [, name], query } = this.take(data), all = data.s.tenants ?? [], picked = all.find(t => t.name === name);
    const found = find(all, query.q, t => [t.name, t.account, ...t.people.map(p => p.word + ":" + p.name)]);
    this.title.textContent = count(found.length, "tenant");
    this.list.set(found.map(t => ({ id: t.name, t })), name);
    this.tell([name, data.s.about.collected], () => {
      this.notes.replaceChildren(el("p.dim", {}, "kubectl lns shows the same of LNamespaces, and changes them."),
        ...unknowns(data, "", data.dark(["lnamespaces", "sudorequests"], "")));
      say(picked ? "tenant " + name + ": " + picked.members : this.title.textContent);
      return picked ? this.drawDetail(picked)
        : [el("p.dim", {}, name ? "No tenant has this address." : "A tenant shows here its people, and who pays.")];
    });
  }

  /** @param {any} t */
  drawRow(t) {
    const sign = (shape, n, one, many) => n > 0 && mark(shape + n, count(n, one, many));
    return [el("span", {}, t.name, sign("◇", t.people.filter(p => p.end).length, "entry ends soon", "entries end soon"),
      sign("●", t.requests?.length, "open request"), sign("▲", t.leftovers?.length, "object left over", "objects left over")),
    el("small", {}, t.members), t.account ?? "", el("small", {}, t.ready === "yes" ? "" : "ready: " + t.ready)];
  }

  /** @param {any} t */
  drawDetail(t) {
    const part = (title, none, heads, rows) => [el("h3", {}, title), rows?.length ? table(heads, rows) : el("p.dim", {}, none)];
    const who = (word, name) => link(toSubject(this.data.subject(word, name)), word + " " + name, { q: "" });
    const dark = this.data.dark(["sudorequests"], t.name).length ? "? not known" : "none";
    return [
      el("h2", {}, t.name, " ", el("small", {}, t.members)), pairs(t.facts),
      ...part("people", "no list names anybody", ["Who", "List", "Until"], t.people.map(p => [who(p.word, p.name),
        [p.list, !p.granted && el("small", {}, " not granted")], [p.until, p.end && mark("◇", ends[p.end])]])),
      ...part("open requests for sudo", dark, ["Who", "For", "State", "Why"], t.requests?.map(r => [who("user", r.who), r.for,
        [r.state, r.until && " until " + r.until, r.decidedBy && " by " + r.decidedBy], r.reason])),
      ...part("who paid", "no account was billed", ["Account", "Since", "Until"],
        t.periods?.map(p => [p.account || "none", p.start, p.end || "now"])),
      ...part("left over", "nothing", ["Object", "By"], t.leftovers?.map(l => [l.kind + " " + l.name, l.maker || "? not known"])),
    ];
  }
}
