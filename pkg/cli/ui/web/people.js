// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { count, el, say } from "./dom.js";
import { List } from "./list.js";
import { route, visit } from "./route.js";
import { ALL, NO, matches, words } from "./data.js";
import { ask, file, fill, shell } from "./answers.js";
import { badge, filter, inside, link, marks, namespaceOf, origin, refill, shapes, toKind, toSubject, unknowns } from "./detail.js";
import { grantButton } from "./grant.js";

/** The view of subjects: the matrix of all, the rights of one, and where one right comes from. */
export class People {
  constructor() {
    this.list = new List({
      role: "listbox", label: "People",
      draw: r => [el("span" + (r.total ? "" : ".faint"), {}, r.text), el("small", {}, r.dark ? "?" : r.total ?? "")],
      activate: r => visit(r.subject ? toSubject(r.subject) : ["people"]),
    });
    this.matrix = new List({
      role: "grid", label: "Kind", empty: "no kind has rights that match",
      draw: r => [el("span", {}, r.kind.kind), el("span", {}, marks(r.kind))],
      head: c => el("span", { title: this.columns[c].id }, this.columns[c].name),
      cell: (r, c) => el("span.box." + this.shape(r.kind, this.columns[c]).box, {}, this.shape(r.kind, this.columns[c]).sign),
      move: (r, c) => { if (c >= 0) say(this.columns[c].word + " " + this.columns[c].name + " on " + r.kind.full + ": " + this.shape(r.kind, this.columns[c]).text); },
      activate: (r, c) => visit(c >= 0 ? toSubject(this.columns[c], r?.kind) : toKind(r.kind)),
    });
    this.rights = new List({
      role: "grid", label: "Rights", empty: "no right on any kind",
      draw: r => this.drawRight(r), activate: r => visit(toSubject(this.subject, r.kind)),
    });
    this.title = el("h2");
    this.notes = el("div");
    this.detail = el("section.detail", { "aria-label": "Right", tabindex: 0 });
    this.text = el("textarea", { "aria-label": "A change", spellcheck: "false", placeholder: "YAML, a kubectl command line, or: deployments/web {\"spec\":{\"replicas\":5}}" });
    this.answer = el("div", { "aria-live": "polite" });
    this.box = el("details.bar", {}, el("summary", {}, "Would this be allowed?"), el("form", { onsubmit: e => { e.preventDefault(); this.allowed(); } }, this.text, el("button", {}, "Ask")), this.answer);
    this.legend = el("p.legend", {}, Object.values(shapes).map(s => el("span", {}, s.sign + " " + s.text)));
    this.pane = el("section.pane", { "aria-label": "Rights" });
    this.nodes = [el("section.side", { "aria-label": "People" }, el("div.bar", {}, filter("q", "Filter people, or user:name")), this.list.node), this.pane, this.detail];
    this.bar = el("div.bar", {}, this.title, el("span.grow"), filter("k", "Filter kinds"));
  }

  /** Shows what the address says. @param {any} data */
  update(data) {
    const { path: [, word, name, group, kind], query } = route(), ns = namespaceOf(data);
    Object.assign(this, { data, ns, subject: name === undefined ? null : data.subject(word, name) });
    const matrix = !this.subject;
    this.detail.hidden = matrix;
    if (this.pane.dataset.matrix !== String(matrix)) {
      this.pane.dataset.matrix = String(matrix);
      this.pane.replaceChildren(this.bar, ...(matrix ? [this.notes, this.matrix.node, this.legend] : [this.notes, this.rights.node, this.box]));
    }
    refill([...this.nodes, this.bar]);
    const q = words(query.q), k = words(query.k), totals = data.totals(ns).subjects;
    this.columns = this.sorted().filter(x => matches(x.lower, q));
    const rows = this.columns.map(x => ({ id: x.id, subject: x, text: x.word + " " + x.name, total: totals[x.i], dark: data.unsure(x, ns) }));
    const typed = (query.q ?? "").match(/^(user|group|serviceaccount):(.+)$/);
    if (typed && !data.subjectById.has(typed[0])) rows.unshift({ id: typed[0], subject: data.subject(typed[1], typed[2]), text: "ask for " + typed[0], total: 1 });
    this.list.set([{ id: "", text: "▦ matrix of all", total: 1 * this.columns.length || "0" }, ...rows], this.subject?.id ?? "");
    const found = data.kinds.filter(x => matches(x.lower, k));
    if (matrix) this.drawMatrix(found);
    else this.drawSubject(found, data.kindById.get(group + "/" + kind));
  }

  /** Subjects: groups, users, accounts; those of the system, which every cluster has, at the end. */
  sorted() {
    const system = x => Number(/^(system:|kube-system\/)/.test(x.name)), rank = ["group", "user", "serviceaccount"];
    return this.data.once("sorted", () => [...this.data.subjects].sort((a, b) => system(a) - system(b) || rank.indexOf(a.word) - rank.indexOf(b.word) || (a.name < b.name ? -1 : 1)));
  }

  /** @param {any} kind @param {any} subject */
  level(kind, subject) { return subject.i < 0 ? NO : this.data.matrix(this.ns)[subject.i * this.data.kinds.length + kind.i]; }

  /** What is not held is unknown where not all could be read. @param {any} kind @param {any} subject */
  shape(kind, subject) {
    const level = this.level(kind, subject);
    return level === NO && this.data.unsure(subject, this.ns) ? shapes.unknown : shapes[level];
  }

  /** @param {any[]} kinds */
  drawMatrix(kinds) {
    const totals = this.data.totals(this.ns).kinds, rows = kinds.filter(k => totals[k.i]).map(kind => ({ id: kind.id, kind }));
    this.title.textContent = "Who may change what, " + inside(this.ns);
    this.matrix.set(rows, undefined, this.columns.length);
    say(count(rows.length, "kind") + ", " + count(this.columns.length, "subject"));
    this.shown = "";
    this.notes.replaceChildren(...unknowns(this.data, this.ns));
  }

  /** @param {any[]} kinds @param {any} picked */
  drawSubject(kinds, picked) {
    const { data, ns, subject } = this, bound = data.entries(subject, ns), dark = data.unsure(subject, ns);
    const powers = [...new Set(bound.flatMap(e => data.s.rules[data.source(e).rules]?.powers ?? []))], master = [subject.i, ...subject.groups].includes(data.s.about.masters);
    const rows = kinds.map(kind => ({ id: kind.id, kind, level: 0, held: this.level(kind, subject) }))
      .filter(r => r.held || (dark && r.kind === picked)).sort((a, b) => (b.kind.rank ?? 0) - (a.kind.rank ?? 0) || b.held - a.held || (a.kind.id < b.kind.id ? -1 : 1));
    this.title.replaceChildren(subject.word + " " + subject.name, " ", el("small", {}, inside(ns)));
    const key = subject.id + "\n" + ns + "\n" + (picked?.id ?? "");
    this.rights.o.empty = dark ? "? no right that is known" : "no right on any kind";
    this.rights.set(rows, picked?.id);
    if (this.shown === key && this.of === data) return;
    [this.shown, this.of] = [key, data];
    this.notes.replaceChildren(...unknowns(data, ns), ...[
      master && el("p.mark", {}, "▲ may do everything, without a binding"),
      powers.length > 0 && el("p.mark", {}, "▲ can get more rights: may " + powers.join(", ")),
      dark && !data.unknown(ns).length && el("p.unknown", {}, "? a role that is bound can't be read, so what is missing here is not known"),
      subject.word === "user" && el("p.dim", {}, "Groups that come with a login can't be read from a cluster: look at them too."),
      subject.groups.length > 0 && el("p.dim", {}, "also as ", subject.groups.map((g, i) => [i > 0 && ", ", link(toSubject(data.subjects[g]), data.subjects[g].name)]).flat()),
    ].filter(Boolean));
    say(subject.word + " " + subject.name + ": " + count(rows.length, "kind") + " " + inside(ns));
    this.detail.replaceChildren(...(picked ? this.drawCell(picked) : [el("p.dim", {}, "Enter on a kind shows where the right comes from."), el("div.actions", {}, grantButton([], [subject]))]));
  }

  /** @param {any} r */
  drawRight(r) {
    const shape = this.shape(r.kind, this.subject), { verbs, update } = this.data.once("right " + this.subject.id + r.id + this.ns, () => {
      const states = this.data.states(this.data.held(r.kind, this.subject, this.ns).map(e => e.cell));
      return { verbs: [...new Set(states.flatMap(s => [...s.verbs.keys()]))], update: states.some(s => s?.u) };
    });
    return [el("span", {}, r.kind.kind, " ", el("small", {}, r.kind.group ?? ""), marks(r.kind)), el("span", {}, el("span.box-" + shape.box, {}, shape.sign + " "), shape.text),
      el("span", {}, (r.held === ALL || update) && badge("update"), " ", verbs.slice(0, 3).map(v => badge(this.data.s.verbs[v].v)), verbs.length > 3 && " +" + (verbs.length - 3))];
  }

  /** @param {any} kind */
  drawCell(kind) {
    const { data, subject, ns } = this, entries = data.held(kind, subject, ns), places = data.places(kind);
    const [fixed, delegated] = [entries.filter(e => e.delegation < 0), entries.filter(e => e.delegation >= 0)];
    const states = data.states(entries.map(e => e.cell)), levels = places.map(p => data.may(states, p).level), changes = [];
    for (let i = 0; i < places.length; i++) {
      if (!levels[i] || (i === 0 && places[0].below)) continue;
      const whole = levels.slice(i, i + places[i].below + 1).every((l, n) => l === levels[i] || places[i + n].field.y);
      changes.push({ p: places[i], level: levels[i] });
      if (whole) i += places[i].below;
    }
    const shape = this.shape(kind, subject);
    return [
      el("h2", {}, kind.kind, " ", el("small", {}, subject.word + " " + subject.name + " " + inside(kind.namespaced ? ns : ""))), el("p", {}, shape.sign + " " + shape.text, marks(kind)),
      el("h3", {}, "may change"),
      changes.length ? el("ul", {}, changes.map(c => el("li", {}, link(toKind(kind, c.p.path), el("code", {}, c.p.path || "the object")), c.level < 2 && el("span.mark", {}, "◇ by name, or for some keys")))) : el("p.dim", {}, shape === shapes[ALL] ? "everything" : shape.sign + " nothing that is known"),
      ...this.locks(kind, entries),
      el("h3", {}, "by"), el("ul", {}, fixed.map(e => origin(data, e))),
      delegated.length > 0 && el("h3", {}, "through delegations"), el("ul", {}, delegated.map(e => origin(data, e))),
      el("div.actions", {}, grantButton([], [subject])),
    ].filter(Boolean);
  }

  /** Protected labels and annotations need more than the field: what of that is held. @param {any} kind @param {any[]} entries */
  locks(kind, entries) {
    const { data, ns, subject } = this, all = (kind.protected ?? []).map(i => ({ i, ...data.s.protected[i] }))
      .filter(p => !ns || p.namespace < 0 || data.space(p.namespace) === ns);
    const held = p => (p.role < 0 ? entries.some(e => data.s.cells[e.cell].some(h => h.a || h.x?.includes(p.i)))
      : data.entries(subject, ns).some(e => e.binding >= 0 && data.source(e).role === p.role));
    return !all.length ? [] : [el("h3", {}, "◆ protected, needs more"), el("ul", {}, all.map(p => el("li", {}, el("code", {}, p.key), " needs ",
      p.verb ? badge(p.verb) : p.roleText, held(p) ? el("span.yes", {}, " ✓ held") : el("span.no", {}, data.unsure(subject, ns) ? " ? not known" : " ✕ not held"))))];
  }

  allowed() {
    const as = this.subject.word === "serviceaccount" ? "system:serviceaccount:" + this.subject.name.replace("/", ":") : this.subject.name;
    const who = this.subject.word === "group" ? "--as=nobody --as-group=" + shell(as) : "--as=" + shell(as);
    if (file) return this.answer.replaceChildren(el("p.dim", {}, "Needs the server of the page. In a terminal: "), el("code", {}, "kubectl granular can-i " + who + (this.ns ? " -n " + shell(this.ns) : "") + " -f FILE"));
    fill(this.answer, () => ask("allowed", { text: this.text.value, namespace: this.ns, as: this.subject.id }), r => [
      ...r.evaluations.flatMap(e => [
        el("p", {}, el("strong." + (e.allowed ? "yes" : "no"), {}, e.allowed ? "✓ allowed" : "✕ refused"), " " + e.verb + " " + e.object, e.by && el("small", {}, " " + e.by), e.missing && " lacks " + e.missing),
        e.fields?.length > 0 && el("table", {}, el("tr", {}, ["Field", "Allowed", "By, or needs one of"].map(t => el("th", { scope: "col" }, t))),
          e.fields.map(f => el("tr", {}, el("td", {}, el("code", {}, f.path)), el("td." + (f.allowed ? "yes" : "no"), {}, f.allowed ? "✓ yes" : "✕ no"), el("td", {}, f.allowed ? f.verb ?? "" : (f.verbs ?? []).join(" "), f.why && " " + f.why)))),
        e.server && el("p", {}, "The server " + (e.server.allowed ? "allows it" : "refuses it: " + (e.server.message ?? ""))),
        !e.sure && el("p.unknown", {}, "? without a dry run: what defaulting and admission would change is not known")]),
      !!r.note && el("p.dim", {}, r.note)]);
  }
}
