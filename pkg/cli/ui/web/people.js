// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { count, el, say } from "./dom.js";
import { List } from "./list.js";
import { route, visit } from "./route.js";
import { ALL, NO, find } from "./data.js";
import { ask, file, fill, shell } from "./answers.js";
import { View, badge, filter, inPart, inside, link, marks, origin, shapes, table, toKind, toSubject } from "./detail.js";
import { unknownLocks, unknowns } from "./detail.js";
import { grantButton } from "./grant.js";

/** @param {any} subject */
const title = subject => subject.word + " " + subject.name;

/** The view of subjects: the matrix of all, the rights of one, and where one right comes from. */
export class People extends View {
  constructor() {
    super();
    this.list = new List({
      role: "listbox", label: "People",
      draw: r => [el("span" + (r.total ? "" : ".faint"), {}, r.text), el("small", {}, r.dark ? "?" : r.total ?? "")],
      activate: r => visit(r.subject ? toSubject(r.subject) : ["people"]),
    });
    this.matrix = new List({
      role: "grid", label: "Kind", empty: "no kind has rights that match",
      draw: r => [el("span", {}, r.kind.kind), el("span", {}, marks(r.kind))],
      head: c => el("span", { title: this.columns[c].id }, this.columns[c].name),
      cell: (r, c) => { const shape = this.shape(r.kind, this.columns[c]); return el("span.box." + shape.box, {}, shape.sign); },
      move: (r, c) => { if (c >= 0) say(title(this.columns[c]) + " on " + r.kind.full + ": " + this.shape(r.kind, this.columns[c]).text); },
      activate: (r, c) => visit(c >= 0 ? toSubject(this.columns[c], r?.kind) : toKind(r.kind)),
    });
    this.rights = new List({
      role: "grid", label: "Rights", empty: "no right on any kind",
      draw: r => this.drawRight(r), activate: r => visit(toSubject(this.subject, r.kind)),
    });
    this.title = el("h2");
    this.notes = el("div.notes");
    this.text = el("textarea", { "aria-label": "A change", spellcheck: "false",
      placeholder: "YAML, a kubectl command line, or: deployments/web {\"spec\":{\"replicas\":5}}" });
    this.answer = el("div", { "aria-live": "polite" });
    this.box = el("details.bar", {}, el("summary", {}, "Would this be allowed?"),
      el("form", { onsubmit: e => { e.preventDefault(); this.allowed(); } }, this.text, el("button", {}, "Ask")), this.answer);
    this.legend = el("p.legend", {}, Object.values(shapes).map(s => el("span", {}, s.sign + " " + s.text)));
    this.lay(["People", "Rights", "Right"], [filter("q", "Filter people, or user:name")], this.list.node,
      [this.title, filter("k", "Filter kinds")]);
  }

  /** Shows what the address says. @param {any} data */
  update(data) {
    const { path: [, word, name, group, kind], query, ns } = this.take(data);
    const subject = this.subject = name === undefined ? null : data.subject(word, name);
    this.detail.hidden = !subject;
    const parts = subject ? [this.notes, this.rights.node, this.box] : [this.notes, this.matrix.node, this.legend];
    if (!parts[1].isConnected) this.pane.replaceChildren(this.bar, ...parts);
    const found = find(this.sorted(), query.q), totals = data.totals(ns).subjects;
    this.columns = found.filter(x => totals[x.i] || data.unsure(x, ns));
    const row = x => ({ id: x.id, subject: x, text: title(x), total: totals[x.i], dark: data.unsure(x, ns) });
    const rows = /** @type {any[]} */ (found).map(row);
    const typed = (query.q ?? "").match(/^(user|group|serviceaccount):(.+)$/), asked = typed && data.subject(typed[1], typed[2]);
    if (asked?.i < 0) rows.unshift({ id: asked.id, subject: asked, text: "ask for " + asked.id, total: 1, dark: true });
    this.list.set([{ id: "", text: "▦ matrix of all", total: this.columns.length }, ...rows], subject?.id ?? "");
    const kinds = find(data.kinds, query.k);
    if (subject) this.drawSubject(kinds, data.kindById.get(group + "/" + kind));
    else this.drawMatrix(kinds);
  }

  /** Subjects: groups, users, accounts; those of the system, which every cluster has, at the end. */
  sorted() {
    const rank = x => Number(/^(system:|kube-system\/)/.test(x.name)) * 3 + ["group", "user", "serviceaccount"].indexOf(x.word);
    return this.data.once("sorted", () => [...this.data.subjects].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)));
  }

  /** What is not held is unknown where not all could be read. @param {any} kind @param {any} subject */
  shape(kind, subject) {
    const level = this.data.level(kind, subject, this.ns);
    return level === NO && this.data.unsure(subject, this.ns) ? shapes.unknown : shapes[level];
  }

  /** @param {any[]} kinds */
  drawMatrix(kinds) {
    const totals = this.data.totals(this.ns).kinds, rows = kinds.filter(k => totals[k.i]).map(kind => ({ id: kind.id, kind }));
    this.title.textContent = "Who may change what, " + inside(this.ns);
    this.matrix.set(rows, undefined, this.columns.length);
    say(count(rows.length, "kind") + ", " + count(this.columns.length, "subject"));
    this.shown = "";
    this.notes.replaceChildren(...unknowns(this.data, this.ns), ...unknownLocks(this.data, "", "fieldpermissions"));
  }

  /** @param {any[]} kinds @param {any} picked */
  drawSubject(kinds, picked) {
    const { data, ns, subject } = this, bound = data.entries(subject, ns), dark = data.unsure(subject, ns);
    const powers = [...new Set(bound.flatMap(e => data.s.rules[data.source(e).rules]?.powers ?? []))];
    const metadata = [...new Set(bound.flatMap(e => data.s.rules[data.source(e).rules]?.metadata ?? []))];
    const master = [subject.i, ...subject.groups].includes(data.s.about.masters), rank = r => (r.kind.rank ?? 0) * 4 + r.held;
    const rows = kinds.map(kind => ({ id: kind.id, kind, held: data.level(kind, subject, ns) }))
      .filter(r => r.held || (dark && r.kind === picked)).sort((a, b) => rank(b) - rank(a) || (a.id < b.id ? -1 : 1));
    this.title.replaceChildren(...el("h2", {}, title(subject), " ", el("small", {}, inside(ns))).childNodes);
    this.rights.o.empty = dark ? "? no right that is known" : "no right on any kind";
    this.rights.set(rows, picked?.id);
    this.tell([subject.id, ns, picked?.id, data.s.about.collected], () => {
      this.notes.replaceChildren(...unknowns(data, ns), ...unknownLocks(data, "", "fieldpermissions"), ...[
        master && el("p.mark", {}, "▲ may do everything, without a binding"),
        !master && data.exempt(subject, ns) && el("p.mark", {}, "▲ may change protected labels and annotations: holds bypass"),
        powers.length > 0 && el("p.mark", {}, "▲ can get more rights: may " + powers.join(", ")),
        metadata.length > 0 && el("p.dim", {}, "reads metadata, without data, of ",
          metadata.map(r => r === "*" ? "all resources" : r).join(", ")),
        dark && !data.unknown(ns).length && el("p.unknown", {}, "? a role that is bound can't be read: what is missing here is not known"),
        subject.word === "user" && el("p.dim", {}, "Groups that come with a login can't be read from a cluster: look at them too."),
        subject.groups.length > 0 && el("p.dim", {}, "also as ",
          subject.groups.map((g, i) => [i > 0 && ", ", link(toSubject(data.subjects[g]), data.subjects[g].name)])),
      ].filter(Boolean));
      say(title(subject) + ": " + count(rows.length, "kind") + " " + inside(ns));
      return picked ? this.drawCell(picked) : [el("p.dim", {}, "Enter on a kind shows where the right comes from."), this.grant()];
    });
  }

  grant() { return el("div.actions", {}, grantButton([], [this.subject])); }

  /** @param {any} r */
  drawRight(r) {
    const { data, subject, ns } = this, shape = this.shape(r.kind, subject);
    const cells = () => data.held(r.kind, subject, ns).map(e => e.cell);
    const states = data.once(["right", subject.id, r.id, ns].join("\n"), () => data.states(cells()));
    const verbs = [...new Set(states.flatMap(s => [...s.verbs.keys()]))], update = r.held === ALL || states.some(s => s?.u);
    return [el("span", {}, r.kind.kind, " ", el("small", {}, r.kind.group ?? ""), marks(r.kind)),
      el("span", {}, update && badge("update"), " ", verbs.slice(0, 3).map(v => badge(data.s.verbs[v].v)),
        verbs.length > 3 && " +" + (verbs.length - 3)),
      el("span", {}, shape.sign + " " + shape.text)];
  }

  /** @param {any} kind */
  drawCell(kind) {
    const { data, subject, ns } = this, entries = data.held(kind, subject, ns), places = data.places(kind);
    const [fixed, delegated] = [entries.filter(e => e.delegation < 0), entries.filter(e => e.delegation >= 0)];
    const sets = data.apart(entries).map(here => data.states(here.map(e => e.cell))), changes = [];
    const levels = places.map(p => Math.max(0, ...sets.map(states => data.may(states, p).level)));
    for (let i = 0; i < places.length; i++) {
      if (!levels[i] || (i === 0 && places[0].below)) continue;
      const whole = levels.slice(i, i + places[i].below + 1).every((l, n) => l === levels[i] || places[i + n].field.y);
      changes.push({ p: places[i], level: levels[i] });
      if (whole) i += places[i].below;
    }
    const shape = this.shape(kind, subject), field = p => link(toKind(kind, p.path), el("code", {}, p.path || "the object"));
    return [
      el("h2", {}, kind.kind, " ", el("small", {}, title(subject) + " " + inside(kind.namespaced ? ns : ""))),
      el("p", {}, shape.sign + " " + shape.text, marks(kind)), el("h3", {}, "may change"),
      changes.length ? el("ul", {}, changes.map(c => el("li", {}, field(c.p), c.level < 2 && inPart())))
        : el("p.dim", {}, shape === shapes[ALL] ? "everything" : shape.sign + " nothing that is known"),
      ...unknownLocks(data, ns), ...unknownLocks(data, "", "fieldpermissions"), ...this.locks(kind, entries),
      el("h3", {}, "by"), el("ul", {}, fixed.map(e => origin(data, e))),
      delegated.length > 0 && el("h3", {}, "through delegations"), el("ul", {}, delegated.map(e => origin(data, e))),
      this.grant(),
    ].filter(Boolean);
  }

  /** Protected labels and annotations need more than the field: what of that is held. @param {any} kind @param {any[]} entries */
  locks(kind, entries) {
    const { data, ns, subject } = this, all = data.locks(kind, ns), unsure = data.unsure(subject, ns);
    const none = unsure ? ["unknown", "? not known"] : ["no", "✕ not held"];
    const words = { 2: ["yes", "✓ held"], 1: ["mark", "◇ held for some"], 0: none };
    const line = p => {
      const level = data.opens(p, subject, ns, entries), [style, text] = words[level] ?? ["unknown", "? not known"];
      return [el("code", {}, p.key), " needs ", p.verb ? badge(p.verb) : p.roleText, " ", el("span." + style, {}, text)];
    };
    return all.length ? [el("h3", {}, "◆ protected, needs more"), el("ul", {}, all.map(p => el("li", {}, line(p))))] : [];
  }

  /** Asks whether a change would be allowed. */
  allowed() {
    const as = this.subject.word === "serviceaccount" ? "system:serviceaccount:" + this.subject.name.replace("/", ":") : this.subject.name;
    const who = this.subject.word === "group" ? "--as=nobody --as-group=" + shell(as) : "--as=" + shell(as);
    if (file) return this.answer.replaceChildren(el("p.dim", {}, "Needs the server of the page. In a terminal: "),
      el("code", {}, "kubectl granular can-i " + who + (this.ns ? " -n " + shell(this.ns) : "") + " -f FILE"));
    const verdict = (yes, good, bad) => el("strong." + (yes ? "yes" : "no"), {}, yes ? "✓ " + good : "✕ " + bad);
    const reason = f => [f.allowed ? f.verb : f.verbs?.join(" "), f.why && " " + f.why];
    const field = f => [el("code", {}, f.path), verdict(f.allowed, "yes", "no"), reason(f)];
    const evaluation = e => [
      el("p", {}, verdict(e.allowed, "allowed", "refused"), " " + e.verb + " " + e.object, e.by && el("small", {}, " " + e.by),
        e.missing && " lacks " + e.missing),
      e.fields?.length > 0 && table(["Field", "Allowed", "By, or needs one of"], e.fields.map(field)),
      e.server && el("p", {}, "The server " + (e.server.allowed ? "allows it" : "refuses it: " + (e.server.message ?? ""))),
      !e.sure && el("p.unknown", {}, "? without a dry run: what defaulting and admission would change is not known"),
    ];
    fill(this.answer, () => ask("allowed", { text: this.text.value, namespace: this.ns, as: this.subject.id }),
      r => [...r.evaluations.flatMap(evaluation), !!r.note && el("p.dim", {}, r.note)]);
  }
}
