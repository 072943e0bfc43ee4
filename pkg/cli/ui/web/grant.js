// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { block, el } from "./dom.js";
import { decode, route, visit } from "./route.js";
import { matches, words } from "./data.js";
import { ask, file, fill, shell } from "./answers.js";
import { badge, inside, namespaceOf } from "./detail.js";

/** @typedef {{kind: any, path: string, parameter?: string}} Pick */

/** A list of lists of texts as one text of an address, and back. @param {string[][]} all */
const pack = all => all.map(x => x.map(encodeURIComponent).join(";")).join(",");
/** @param {string} [text] */
const unpack = text => (text ?? "").split(",").filter(Boolean).map(x => x.split(";").map(decode));
/** @param {Pick[]} picks @param {any[]} subjects */
const state = (picks, subjects) => ({ grant: "1", picks: pack(picks.map(p => [p.kind.id, p.path, p.parameter ?? ""])),
  who: pack(subjects.map(s => [s.word, s.name])) });

/** Opens the dialog with fields and people picked; both can be added there. @param {Pick[]} picks @param {any[]} subjects */
export const grantButton = (picks, subjects) => el("button.main",
  { type: "button", onclick: () => visit(route().path, state(picks, subjects)) }, "Grant this to …");

/** The dialog that writes the least role across picked fields and people. It applies nothing. */
export class Grant {
  /** @type {import("./data.js").Data} */
  data;
  ns = "";

  constructor() {
    this.picks = el("ul");
    this.who = el("ul.chips", { "aria-label": "People" });
    this.names = el("input", { placeholder: "all objects", "aria-label": "Names of objects",
      onchange: () => this.change({ names: this.names.value.trim() }) });
    this.adder = (label, list, add) => el("input", {
      list, placeholder: label, "aria-label": label, autocomplete: "off",
      onchange: e => { if (add(e.target.value.trim())) e.target.value = ""; },
    });
    this.people = el("datalist", { id: "people-list" });
    this.fields = el("datalist", { id: "field-list" });
    const find = this.adder("add a user, group or account", "people-list", text => this.addSubject(text));
    const pick = this.adder("add a field, such as Deployment .spec.replicas", "field-list", text => this.addPick(text));
    pick.addEventListener("input", () => this.suggest(pick.value));
    this.answer = el("div", { "aria-live": "polite" });
    this.where = el("p");
    this.node = el("dialog", { "aria-label": "Grant this to",
      onclose: () => { if (route().query.grant && !this.node.open) visit(route().path, { grant: "", picks: "", who: "", names: "" }); } },
      el("h2", {}, "Grant this to …"), this.where, el("h3", {}, "Fields"), this.picks, pick, el("h3", {}, "People"), this.who, find,
      el("h3", {}, "Only the objects named"), this.names, this.answer, this.people, this.fields,
      el("div.actions", {}, el("button", { type: "button", onclick: () => this.node.close() }, "Close")));
  }

  /** @param {Record<string, string>} query */
  change(query) { visit(route().path, query, true); }

  /** @param {string} text */
  addSubject(text) {
    const m = text.match(/^(user|group|serviceaccount):(.+)$/s);
    if (m) this.change(state(this.picked, [...this.subjects.filter(x => x.id !== text), this.data.subject(m[1], m[2])]));
    return m !== null;
  }

  /** @param {string} text a kind and a path */
  addPick(text) {
    const [name, path] = text.split(/ (.*)/s), kind = this.data.kindById.get(name) ?? this.data.kinds.find(k => k.kind === name);
    const place = kind && path && this.data.places(kind).find(p => p.path === path);
    if (place) this.change(state([...this.picked.filter(p => p.kind !== kind || p.path !== path), { kind, path }], this.subjects));
    return !!place;
  }

  /** @param {string} text */
  suggest(text) {
    const [name, path] = text.toLowerCase().split(/ (.*)/s), all = words(path);
    const kinds = this.data.kinds.filter(k => k.lower.includes(name) || k.id.toLowerCase() === name).slice(0, 4);
    const places = k => this.data.places(k).filter(p => p.path && !p.field.y && matches(p.path.toLowerCase(), all)).slice(0, 12);
    this.fields.replaceChildren(...kinds.flatMap(k => places(k).map(p => el("option", { value: k.id + " " + p.path }))));
  }

  /** Shows what the address says. @param {any} data */
  update(data) {
    const { query } = route();
    if (!query.grant) { if (this.node.open) this.node.close(); return; }
    if (this.data !== data) this.people.replaceChildren(...data.subjects.map(x => el("option", { value: x.id })));
    this.data = data;
    this.subjects = unpack(query.who).map(([word, name]) => data.subject(word, name ?? ""));
    const pick = ([id, path, parameter]) => ({ kind: data.kindById.get(id), path, parameter });
    this.picked = unpack(query.picks).map(pick).filter(p => p.kind);
    this.ns = namespaceOf(data);
    this.where.textContent = "It holds " + inside(this.ns) + ". Nothing is applied from here.";
    this.names.value = query.names ?? "";
    this.who.replaceChildren(...this.subjects.map(s => el("li", {}, s.word + " " + s.name,
      this.remove(s.name, () => state(this.picked, this.subjects.filter(x => x !== s))))));
    this.picks.replaceChildren(...this.picked.map(p => this.drawPick(p)));
    if (!this.node.open) this.node.showModal();
    const open = this.picked.find(p => this.verb(p).p && !p.parameter);
    const lack = !this.picked.length || !this.subjects.length ? "Pick at least one field and one subject."
      : open && open.path + " needs a " + this.verb(open).p + ".";
    if (lack) this.answer.replaceChildren(el("p.dim", {}, lack));
    else fill(this.answer, () => this.remedy(), remedy);
  }

  /** The least verb of a pick. @param {Pick} p */
  verb(p) { return this.data.s.verbs[this.data.place(p.kind, p.path).field.c?.at(-1)] ?? {}; }

  /** @param {string} name @param {() => Record<string, string>} rest what stays */
  remove(name, rest) { return el("button", { type: "button", "aria-label": "remove " + name, onclick: () => this.change(rest()) }, "✕"); }

  /** @param {Pick} p */
  drawPick(p) {
    const verb = this.verb(p), rest = this.picked.filter(x => x !== p);
    return el("li", {}, el("code", {}, p.kind.full + " " + p.path), " ", verb.v ? badge(verb.v) : "no permission covers it", " ",
      verb.p && el("input", { value: p.parameter ?? "", placeholder: verb.p, "aria-label": verb.p,
        onchange: e => { p.parameter = e.target.value.trim(); this.change(state(this.picked, this.subjects)); } }),
      this.remove(p.path, () => state(rest, this.subjects)));
  }

  /** The server knows the least role; a file writes the plain one. */
  async remedy() {
    const names = this.names.value.split(/\s+/).filter(Boolean);
    if (!file) return ask("grant", { subjects: this.subjects.map(s => s.id), namespace: this.ns, names,
      picks: this.picked.map(p => ({ kind: p.kind.i, path: p.path, parameter: p.parameter ?? "" })) });
    const q = JSON.stringify, kind = this.ns ? "Role" : "ClusterRole", group = "rbac.authorization.k8s.io";
    const name = "granular-" + this.picked[0].kind.resource, where = this.ns ? ["  namespace: " + q(this.ns)] : [];
    const head = (suffix = "") => ["apiVersion: " + group + "/v1", "kind: " + kind + suffix, "metadata:", "  name: " + q(name), ...where];
    const rules = this.picked.flatMap(p => this.data.place(p.kind, p.path).ways.filter(w => w.cover.length).slice(0, 1).flatMap(w => {
      const v = this.data.s.verbs[w.cover.at(-1)], part = p.kind.parts[w.part].name;
      return ["- apiGroups: [" + q(p.kind.group ?? "") + "]", "  resources: [" + q(p.kind.resource + (part ? "/" + part : "")) + "]",
        ...(names.length ? ["  resourceNames: " + q(names)] : []),
        "  verbs: " + q(["granular", v.s ? v.s + "(" + p.parameter + ")" : v.v])];
    }));
    const subjects = this.subjects.flatMap(s => {
      const [space, account] = s.name.split(/\/(.*)/s);
      if (s.word === "serviceaccount") return ["- kind: ServiceAccount", "  namespace: " + q(space), "  name: " + q(account ?? "")];
      return ["- apiGroup: " + group, "  kind: " + (s.word === "user" ? "User" : "Group"), "  name: " + q(s.name)];
    });
    const roleRef = ["roleRef:", "  apiGroup: " + group, "  kind: " + kind, "  name: " + q(name)];
    return {
      yaml: [...head(), "rules:", ...rules, "---", ...head("Binding"), ...roleRef, "subjects:", ...subjects, ""].join("\n"),
      commands: ["kubectl apply -f " + shell(name + ".yaml")],
      note: "This is a file: the plain role. kubectl granular ui also writes the role test, and what the role allows beyond the wish.",
    };
  }
}

/** Draws the least role, the commands that apply it, its test and what it allows besides. @param {any} r */
export const remedy = r => [
  block(r.yaml, "Least role"), r.commands?.length > 0 && block(r.commands.join("\n"), "Commands"),
    !!r.test && block(r.test, "Role test, for kube-granular test"),
  r.allows?.length > 0 && el("p", {}, "It lets change: ", el("code", {}, r.allows.join(", "))),
  r.beyond?.length > 0 && el("h3", {}, "beyond the wish"),
    r.beyond?.length > 0 && el("ul", {}, r.beyond.map(t => el("li", {}, el("span.mark", {}, "▲ "), t))),
  !!r.note && el("p.dim", {}, r.note),
];
