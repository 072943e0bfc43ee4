// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { block, count, el, say } from "./dom.js";
import { List } from "./list.js";
import { route, visit } from "./route.js";
import { find } from "./data.js";
import { ask, file, fill } from "./answers.js";
import { View, badge, filter, holders, link, subjectLink, toKind } from "./detail.js";
import { grantButton, remedy } from "./grant.js";

const store = "kube-granular.right";

/** The view of refused requests: why, who could have, and the least role that helps. */
export class Denials extends View {
  constructor() {
    super();
    this.pasted = /** @type {any[]} */ ([]);
    try {
      this.right = new Set(JSON.parse(localStorage.getItem(store) ?? "[]"));
    } catch { // A browser may keep nothing for a file, and then hides only until it is closed.
      this.right = new Set();
    }
    this.list = new List({
      role: "grid", label: "Refused requests", empty: "",
      draw: r => this.drawRow(r.d), activate: r => visit(["denials", r.id]),
    });
    this.text = el("textarea", { "aria-label": "Refusals", spellcheck: "false",
      placeholder: "Paste what kubectl said, or lines of an audit log" });
    this.status = el("div", { "aria-live": "polite" });
    this.hidden = el("input", { type: "checkbox", onchange: () => visit(route().path, { all: this.hidden.checked ? "1" : "" }, true) });
    this.source = el("p.dim");
    const form = el("form", { onsubmit: e => { e.preventDefault(); this.explain(); } }, this.text, el("button", {}, "Explain"));
    this.lay(["Source", "Refused requests", "Refusal"], [this.source, el("label", {}, this.hidden, " also those that are right"), form,
      this.status], null, [el("h2", {}, "Refused requests"), filter("q", "Filter refusals")], this.list.node);
  }

  /** The refusals that are not hidden. @param {any} data @param {boolean} [all] */
  listed(data, all) { return [...this.pasted, ...data.s.denials].filter(d => all || !this.right.has(d.key)); }

  /** Shows what the address says. @param {any} data */
  update(data) {
    const { path: [, key], query } = this.take(data), all = [...this.pasted, ...data.s.denials];
    this.hidden.checked = query.all === "1";
    const dark = data.s.unknown.find(u => u.what === "denials");
    const from = data.s.about.denials ? "From " + data.s.about.denials : "No audit log was given: paste a refusal.";
    const more = data.more > 0 && ", and " + data.more + " earlier ones";
    this.source.replaceChildren(...el("p", {}, dark ? "? " + dark.why : from, more).childNodes);
    const picked = all.find(d => d.key === key);
    const rows = find(this.listed(data, this.hidden.checked), query.q,
      d => [d.user, d.verb, d.resource, d.namespace, d.name, d.field, ...(d.missing ?? [])]).map(d => ({ id: d.key, d }));
    this.list.o.empty = data.s.about.denials || this.pasted.length ? "nothing matches" : "? not known: no audit log was given";
    this.list.set(rows, key);
    const none = key ? "No refusal has this address." : "A refusal shows here why, who could have, and the least role that helps.";
    this.tell([none, picked?.key, picked?.count, this.right.has(key)], () => (picked ? this.drawDetail(picked) : [el("p.dim", {}, none)]));
  }

  /** @param {any} d */
  drawRow(d) {
    return [el("span", {}, el("span.no", { "aria-hidden": "true" }, "✕ "), this.data.subjects[d.subject]?.name ?? d.user, " ",
      el("small", {}, [d.verb, d.resource, d.namespace && "in " + d.namespace].filter(Boolean).join(" "))),
      el("code", {}, d.field || "the request"), d.missing?.length ? badge(d.missing[0]) : "",
      el("small", {}, (d.count > 1 ? d.count + "× " : "") + when(d.time))];
  }

  /** @param {any} d */
  drawDetail(d) {
    const data = this.data, kind = data.kinds[d.kind], subject = data.subjects[d.subject],
      place = kind && d.field && data.place(kind, d.field);
    const right = this.right.has(d.key) ? "This is not right" : "This is right: hide it";
    const hide = el("button", { type: "button", onclick: () => this.hide(d) }, right);
    say(d.user + " was refused " + (d.field || d.resource));
    const helps = (d.missing ?? []).map(v => [badge(v), " "]);
    return [
      el("h2", {}, subject ? subjectLink(subject) : d.user, " may not " + (d.verb ?? "change") + " ",
        el("code", {}, d.field || d.resource)),
      el("p", {}, [d.resource, d.name, d.namespace && "in " + d.namespace].filter(Boolean).join(" "),
        d.count > 1 && ", " + count(d.count, "time"), d.time && ", last " + d.time, d.auditID && el("small", {}, " audit " + d.auditID)),
      d.behalf?.length > 0 && el("p", {}, "on behalf of ", d.behalf.join(", then ")),
      el("h3", {}, "why"), d.message && el("p.mono", {}, d.message), d.advice && el("p", {}, d.advice),
      d.together?.length ? el("p", {}, "Needs together: ", d.together.map(v => [badge(v), " "]))
        : helps.length > 0 && el("p", {}, "Missing one of: ", helps),
      ...(d.remedy ? [el("h3", {}, "least role that helps"), ...remedy(d.remedy)]
        : [!d.advice && place && el("p", {}, grantButton([{ kind, path: place.path }], subject ? [subject] : []))]),
      place && el("h3", {}, "who could have"), ...(place ? holders(data, kind, place, d.namespace ?? "") : []),
      el("div.actions", {}, hide, place && link(toKind(kind, place.path), "See the field", { ns: d.namespace || "*", q: "" })),
    ].filter(Boolean);
  }

  /** @param {any} d */
  hide(d) {
    const had = this.right.delete(d.key);
    if (!had) this.right.add(d.key);
    try {
      localStorage.setItem(store, JSON.stringify([...this.right].slice(-1000)));
    } catch { /* as above */ }
    say(had ? "shown again" : "hidden");
    visit(["denials"]);
  }

  explain() {
    if (file) return this.status.replaceChildren(el("p.dim", {}, "Needs the server of the page. In a terminal:"),
      block("kubectl granular explain-denial", "pipe the text into"));
    fill(this.status, () => ask("denial", { text: this.text.value }), r => {
      this.pasted = [...r.denials, ...this.pasted.filter(p => !r.denials.some(d => d.key === p.key))];
      if (r.denials.length) visit(["denials", r.denials[0].key]);
      return [el("p.dim", {}, count(r.denials.length, "refusal"), r.unread > 0 && ", " + count(r.unread, "line") + " not understood",
        r.more > 0 && ", and " + r.more + " earlier ones")];
    });
  }
}

/** The day is said only if it is not today's. @param {string} [time] */
const when = (time = "") =>
  (time.slice(0, 10) === new Date().toISOString().slice(0, 10) ? time.slice(11, 19) : time.slice(0, 16).replace("T", " "));
