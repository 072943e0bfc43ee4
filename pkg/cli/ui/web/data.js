// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

/**
 * The snapshot is what package model of pkg/cli/ui describes; numbers in it are indexes of its tables.
 * This module joins bindings, roles and cells, and decides nothing else.
 * @typedef {Record<string, any>} Snapshot
 * @typedef {{part: number, cover: number[], excluded: boolean}} Way a part through which a field is changed
 * @typedef {{path: string, name: string, level: number, field: any, ways: Way[], below: number, lower?: string}} Place
 *   a field at its path in a kind; below is the number of places below it
 * @typedef {{part: number, u: number, g: number, a: number, verbs: Map<number, number>}} State
 *   what is held on one part, over several bindings: 0 no, 1 in part, 2 yes
 * @typedef {{binding: number, delegation: number, cell: number}} Entry where a cell comes from; -1 is neither
 */

export const NO = 0, NAMED = 1, SOME = 2, ALL = 3;
// What a subject has on a kind, as bits that add up over bindings.
const UPDATE = 1, UPDATE_NAMED = 2, GRANULAR = 4, GRANULAR_NAMED = 8, VERB = 16, VERB_NAMED = 32, EVERY = 64, EXCLUDED = 128;

/** The level of each combination of bits, first for kinds without excluded fields, then for those with. */
const levels = Uint8Array.from({ length: 512 }, (_, i) => {
  const has = b => (i & b) !== 0, some = has(UPDATE) || (has(GRANULAR) && has(VERB | EVERY));
  if (has(UPDATE | GRANULAR) && has(EVERY)) return ALL;
  if (has(UPDATE) && (i < 256 || has(EXCLUDED))) return ALL;
  if (some) return SOME;
  return has(UPDATE_NAMED) || (has(GRANULAR | GRANULAR_NAMED) && has(VERB | VERB_NAMED | EVERY)) ? NAMED : NO;
});

const kindWords = new Map([["User", "user"], ["Group", "group"], ["ServiceAccount", "serviceaccount"]]);

export class Data {
  /** @param {Snapshot} s */
  constructor(s) {
    if (s.version !== 1) throw new Error("the snapshot has version " + s.version + "; this page reads version 1");
    this.s = s;
    this.kinds = s.kinds.map((k, i) => ({
      ...k, i, id: (k.group || "core") + "/" + k.kind, full: k.resource + (k.group ? "." + k.group : ""),
      lower: [k.kind, k.group ?? "core", k.resource, ...(k.shortNames ?? [])].join(" ").toLowerCase(),
    }));
    this.subjects = s.subjects.map((x, i) => {
      const name = x.s ? x.s + "/" + x.n : x.n, word = kindWords.get(x.k) ?? x.k;
      return { i, word, name, id: word + ":" + name, groups: x.g ?? [], lower: (word + " " + name).toLowerCase() };
    });
    this.kindById = new Map(this.kinds.map(k => [k.id, k]));
    this.subjectById = new Map(this.subjects.map(x => [x.id, x]));
    this.spaces = new Map(s.namespaces.map((n, i) => [n, i]));
    /** The bindings of each subject, so that one subject costs only its own. @type {number[][]} */
    this.bound = this.subjects.map(() => []);
    s.bindings.forEach((b, i) => { for (let n = 3; n < b.length; n++) this.bound[b[n]].push(i); });
    /** @type {number[][]} */
    this.delegated = this.subjects.map(() => []);
    s.delegations.forEach((d, i) => d.delegates.forEach(x => this.delegated[x].push(i)));
    /** For each list of rules, the cell of a kind. @type {Map<number, number>[]} */
    this.cellOf = s.rules.map(r => {
      const map = new Map();
      for (let n = 0; n < (r.cells?.length ?? 0); n += 2) map.set(r.cells[n], r.cells[n + 1]);
      return map;
    });
    this.memo = new Map();
    /** How many earlier refusals the server does not list. */
    this.more = 0;
  }

  /** Computes once for a key. @template T @param {string} key @param {() => T} make @returns {T} */
  once(key, make) {
    if (!this.memo.has(key)) this.memo.set(key, make());
    return this.memo.get(key);
  }

  /** @param {number} i */
  space(i) { return i < 0 ? "" : this.s.namespaces[i]; }

  /** The role of a binding: ClusterRole edit, Role shop/edit. @param {number} r */
  roleName(r) {
    const role = this.s.roles[r];
    return role.s < 0 ? "ClusterRole " + role.n : "Role " + this.space(role.s) + "/" + role.n;
  }

  /** @param {number} b */
  bindingName(b) {
    const [name, ns] = this.s.bindings[b];
    return ns < 0 ? "ClusterRoleBinding " + this.s.names[name] : "RoleBinding " + this.space(ns) + "/" + this.s.names[name];
  }

  /**
   * The lists without which nobody knows who holds a right in a namespace; "" for all namespaces. An answer
   * "no" is "unknown" if there is any. A role that could not be read says so itself.
   * @param {string} ns
   * @returns {{what: string, of?: string, except?: string[], why: string}[]}
   */
  unknown(ns) {
    return this.once("unknown " + ns, () => this.dark(["clusterrolebindings", "rolebindings", "authoritydelegations"], ns));
  }

  /** Which lists can't be read in a namespace. @param {string[]} lists @param {string} ns @returns {any[]} */
  dark(lists, ns) { return this.s.unknown.filter(u => lists.includes(u.what) && !(ns && u.except?.includes(ns))); }

  /**
   * Reports whether rights of a subject are unknown, as for a role that could not be read. What a delegation
   * gives counts only in requests that select it, so it leaves nobody's own rights open.
   * @param {any} subject @param {string} ns
   */
  unsure(subject, ns) {
    if (this.unknown(ns).some(u => u.what !== "authoritydelegations")) return true;
    return this.once("unsure " + subject.id + "\n" + ns, () => this.entries(subject, ns)
      .some(e => e.binding >= 0 && this.s.roles[this.s.bindings[e.binding][2]].state === "unknown"));
  }

  /** Reports whether there may be more holders than those that are known. @param {string} ns */
  open(ns) {
    return this.once("open " + ns, () => this.unknown(ns).length > 0 || this.subjects.some(x => this.unsure(x, ns)));
  }

  /**
   * The bindings and delegations of a subject and its groups that count in a namespace.
   * @param {any} subject @param {string} ns @param {boolean} [own] without its groups
   */
  entries(subject, ns, own = false) {
    const at = ns ? this.spaces.get(ns) ?? -2 : null, counts = n => n < 0 || at === null || n === at;
    return this.once("entries " + subject.id + "\n" + ns + own, () => [subject.i, ...(own ? [] : subject.groups)].flatMap(x => [
      ...(this.bound[x] ?? []).filter(b => counts(this.s.bindings[b][1])).map(b => ({ binding: b, delegation: -1, by: x })),
      ...(this.delegated[x] ?? []).filter(d => counts(this.s.delegations[d].namespace)).map(d => ({ binding: -1, delegation: d, by: x })),
    ]));
  }

  /**
   * A subject by its address. One that no binding names has the rights of the groups that it is certainly in. A
   * user with the name of a service account is that account.
   * @param {string} word @param {string} name
   */
  subject(word, name) {
    const account = word === "user" && name.match(/^system:serviceaccount:([^:]*):(.*)$/s);
    if (account) [word, name] = ["serviceaccount", account[1] + "/" + account[2]];
    const id = word + ":" + name, known = this.subjectById.get(id);
    if (known) return known;
    const accounts = "system:serviceaccounts", all = ["system:authenticated"];
    if (word === "serviceaccount") all.push(accounts, accounts + ":" + name.split("/")[0]);
    else if (name.startsWith(accounts + ":")) all.push(accounts);
    else if (/^system:(anonymous|unauthenticated)$/.test(name)) all[0] = "system:unauthenticated";
    const groups = all.map(g => this.subjectById.get("group:" + g)?.i).filter(i => i !== undefined);
    return { i: -1, word, name, id, groups, lower: "" };
  }

  /** The rules, role and namespace of an entry. @param {{binding: number, delegation: number}} e */
  source(e) {
    const d = this.s.delegations[e.delegation];
    if (d) return { rules: d.rules, role: -1, ns: d.namespace };
    const [, ns, role] = this.s.bindings[e.binding];
    return { rules: this.s.roles[role].r, role, ns };
  }

  /**
   * The entries that hold something on a kind, each with its cell. A RoleBinding holds nothing on kinds of
   * the cluster.
   * @param {any} kind @param {any} subject @param {string} ns @param {boolean} [own]
   */
  held(kind, subject, ns, own) {
    return this.entries(subject, ns, own).flatMap(e => {
      const from = this.source(e), cell = this.cellOf[from.rules]?.get(kind.i);
      return cell === undefined || (from.ns >= 0 && !kind.namespaced) ? [] : [{ ...e, ...from, cell }];
    });
  }

  /** Adds up cells, for each part. @param {number[]} cells @returns {State[]} */
  states(cells) {
    /** @type {State[]} */
    const out = [];
    for (const c of cells) for (const h of this.s.cells[c]) {
      const part = h.p ?? 0, st = (out[part] ??= { part, u: 0, g: 0, a: 0, verbs: new Map() });
      st.u = Math.max(st.u, h.u ?? 0); st.g = Math.max(st.g, h.g ?? 0); st.a = Math.max(st.a, h.a ?? 0);
      for (const v of h.v ?? []) st.verbs.set(v, 2);
      for (const v of h.s ?? []) if (!st.verbs.has(v)) st.verbs.set(v, 1);
    }
    return out;
  }

  /**
   * How far states allow a change of a place: 0 no, 1 in part, 2 yes; and the verb that does, -1 for update.
   * @param {State[]} states @param {Place} place
   */
  may(states, place) {
    let best = 0, verb = -1;
    for (const w of place.ways) {
      const st = states[w.part];
      if (!st) continue;
      if (!w.excluded && st.u > best) [best, verb] = [st.u, -1];
      for (const v of w.cover) {
        const level = Math.min(Math.max(st.u, st.g), Math.max(st.a, st.verbs.get(v) ?? 0));
        if (level > best) [best, verb] = [level, v];
      }
    }
    return { level: best, verb };
  }

  /** The places of a kind, parents first. @param {any} kind @returns {Place[]} */
  places(kind) {
    return this.once("places " + kind.i, () => {
      /** @type {Place[]} */
      const out = [];
      const walk = (f, path, level) => {
        const field = typeof f === "number" ? this.s.fields[f] : f, first = path.match(/^\.?([^.[]*)/)?.[1] ?? "";
        const parts = Object.hasOwn(kind.through ?? {}, first) ? kind.through[first] : [0];
        /** @type {Way[]} */
        const ways = parts.map(part => ({ part, cover: field.c ?? [], excluded: !!field.x }));
        kind.parts.forEach((p, part) => {
          for (const pf of p.fields ?? []) if (pf.path === path) ways.push({ part, cover: pf.c, excluded: !!pf.x });
        });
        const place = { path, name: field.n, level, field, ways: field.y ? [] : ways, below: 0 }, at = out.push(place);
        const rest = (field.r ?? []).map(n => ({ n, c: field.c, x: field.x, rest: true }));
        for (const below of [...(field.f ?? []), ...rest]) {
          const name = below.n ?? this.s.fields[below].n;
          walk(below, path + (name.startsWith("[") ? "" : ".") + name, level + 1);
        }
        place.below = out.length - at;
      };
      walk(kind.root, "", 0);
      return out;
    });
  }

  /**
   * Finds the place of a path such as .metadata.labels[example.com/x]; below the last place, that one.
   * @param {any} kind @param {string} path
   */
  place(kind, path) {
    const places = this.places(kind);
    let found = places.find(p => p.path === path);
    if (found) return found;
    found = places[0];
    for (const part of path.match(/\[[^\]]*\]|[^.[]+/g) ?? []) {
      const name = part.replace(/^\["(.*)"\]$/s, "$1"), i = places.indexOf(found), next = places.slice(i + 1, i + 1 + found.below)
        .find(p => p.level === found.level + 1 && (p.name === name || (part[0] === "[" && p.name === "[*]")));
      if (!next) break;
      found = next;
    }
    return found;
  }

  /**
   * Who may change a place. A subject is left out if its groups alone allow as much: then these are listed.
   * With "" for all namespaces, bindings of different namespaces never add up.
   * @param {any} kind @param {Place} place @param {string} ns
   */
  holders(kind, place, ns) {
    return this.holding(kind, ns).flatMap(h => {
      let best = { level: 0, verb: -1 }, set = null;
      for (const x of h.sets.values()) {
        const m = this.may(x.all.states, place);
        if (m.level > Math.max(best.level, this.may(x.groups.states, place).level)) [best, set] = [m, x];
      }
      if (!set) return [];
      const entries = h.entries.filter(e => set.all.cells.includes(e.cell) && this.helps(e.cell, place, best.verb));
      return [{ subject: h.subject, ...best, entries, delegated: this.may(set.fixed.states, place).level < best.level }];
    });
  }

  /** Reports whether a cell has to do with a right. @param {number} cell @param {Place} place @param {number} verb -1 for update */
  helps(cell, place, verb) {
    return this.s.cells[cell].some(h => place.ways.some(w => w.part === (h.p ?? 0)
      && (verb < 0 ? h.u : h.a || h.g || h.v?.includes(verb) || h.s?.includes(verb) || (h.u && w.excluded))));
  }

  /** Splits entries by namespace, as only those of one namespace add up. @param {any[]} entries @returns {any[][]} */
  apart(entries) { return [...new Set(entries.map(e => e.ns))].map(at => entries.filter(e => e.ns < 0 || e.ns === at)); }

  /** The subjects that hold anything on a kind, with what adds up in each namespace. @param {any} kind @param {string} ns */
  holding(kind, ns) {
    return this.once("holding " + kind.i + " " + ns, () => {
      const merged = new Map(), merge = entries => {
        const cells = [...new Set(entries.map(e => e.cell))].sort((a, b) => a - b), key = cells.join();
        if (!merged.has(key)) merged.set(key, { id: merged.size, cells, states: this.states(cells) });
        return merged.get(key);
      };
      return this.subjects.flatMap(subject => {
        if (subject.i === this.s.about.masters || !this.held(kind, subject, ns, true).length) return [];
        const entries = this.held(kind, subject, ns), sets = new Map();
        for (const here of this.apart(entries)) {
          const all = merge(here);
          const groups = merge(here.filter(e => e.by !== subject.i)), fixed = merge(here.filter(e => e.delegation < 0));
          sets.set([all.id, groups.id, fixed.id].join(), { all, groups, fixed });
        }
        return [{ subject, entries, sets }];
      });
    });
  }

  /** The number of holders of each place of a kind. @param {any} kind @param {string} ns @returns {Int32Array} */
  counts(kind, ns) {
    return this.once("counts " + kind.i + " " + ns, () => {
      const places = this.places(kind), out = new Int32Array(places.length), memo = new Map();
      for (const h of this.holding(kind, ns)) {
        const key = [...h.sets.keys()].join(";"), sets = [...h.sets.values()];
        const more = p => sets.some(x => this.may(x.all.states, p).level > this.may(x.groups.states, p).level);
        if (!memo.has(key)) memo.set(key, Uint8Array.from(places, p => Number(more(p))));
        memo.get(key).forEach((n, i) => { out[i] += n; });
      }
      return out;
    });
  }

  /** The protected labels and annotations of a kind in a namespace. @param {any} kind @param {string} ns */
  locks(kind, ns) {
    const all = (kind.protected ?? []).map(i => ({ i, ...this.s.protected[i] }));
    return all.filter(p => !ns || p.namespace < 0 || this.space(p.namespace) === ns);
  }

  /** Reports whether a subject is exempt from protected labels and annotations. @param {any} subject @param {string} ns */
  exempt(subject, ns) {
    return [subject.i, ...subject.groups].includes(this.s.about.masters) || this.entries(subject, ns).some(e =>
      e.binding >= 0 && this.source(e).ns < 0 && this.s.rules[this.source(e).rules]?.bypass);
  }

  /**
   * How far a subject may change a protected label or annotation: 0 no, 1 in part, 2 yes, -1 not known. For one of
   * the whole cluster only a ClusterRoleBinding makes a subject of its role, and nobody is one of a missing role.
   * @param {any} lock @param {any} subject @param {string} ns @param {any[]} held what the subject holds on the kind
   */
  opens(lock, subject, ns, held) {
    if (this.exempt(subject, ns)) return 2;
    const counts = at => at < 0 || (lock.role < 0 && lock.namespace < 0) || at === lock.namespace;
    if (lock.role >= 0) {
      const bound = this.entries(subject, ns).some(e => e.binding >= 0 && this.source(e).role === lock.role && counts(this.source(e).ns));
      return !bound ? 0 : { missing: 0, unknown: -1 }[this.s.roles[lock.role].state] ?? 2;
    }
    return Math.max(0, ...held.filter(e => counts(e.ns)).flatMap(e => this.s.cells[e.cell].filter(h => !h.p)
      .map(h => Math.max(h.a ?? 0, h.x?.includes(lock.i) ? (h.n?.length ? 1 : 2) : 0))));
  }

  /** What cells of a list of rules mean for kinds, as pairs of a kind and bits. @param {number} r */
  bits(r) {
    return this.once("bits " + r, () => {
      const out = [];
      for (const [k, c] of this.cellOf[r] ?? []) {
        let bits = 0;
        for (const h of this.s.cells[c]) {
          const yes = 2, sub = h.p > 0;
          if (h.u) bits |= h.u === yes ? (sub ? GRANULAR | VERB : UPDATE) : sub ? GRANULAR_NAMED | VERB_NAMED : UPDATE_NAMED;
          if (h.g) bits |= h.g === yes ? GRANULAR : GRANULAR_NAMED;
          if (h.a) bits |= h.a === yes && !sub ? EVERY | EXCLUDED : VERB_NAMED;
          if (h.v?.length) bits |= VERB;
          if (h.s?.length) bits |= VERB_NAMED;
          if (this.kinds[k].excluded && !sub && this.excluded(k).every(v => h.v?.includes(v))) bits |= EXCLUDED;
        }
        out.push(k, bits);
      }
      return out;
    });
  }

  /** The verbs of excluded fields of a kind, the most general one of each. @param {number} k */
  excluded(k) {
    const verbs = () => this.places(this.kinds[k]).filter(p => p.field.x && p.field.c?.length).map(p => p.field.c[0]);
    return this.once("excluded " + k, () => [...new Set(verbs())]);
  }

  /** What each subject has itself on each kind, as bits: [subject * kinds + kind]. @param {string} ns @returns {Uint8Array} */
  direct(ns) {
    return this.once("direct " + ns, () => {
      const n = this.kinds.length, all = new Uint8Array(this.subjects.length * n), at = ns ? this.spaces.get(ns) ?? -2 : null;
      const add = (rules, space, subjects, part) => {
        if (rules < 0 || (space >= 0 && at !== null && space !== at)) return;
        const pairs = this.bits(rules);
        for (let p = 0; p < pairs.length; p += 2) {
          if (space >= 0 && !this.kinds[pairs[p]].namespaced) continue;
          // In some namespaces, or only in requests that select a delegation, is never "all".
          let bits = pairs[p + 1];
          if ((part || (space >= 0 && at === null)) && bits & (UPDATE | EVERY)) bits = GRANULAR | VERB;
          for (const x of subjects) all[x * n + pairs[p]] |= bits;
        }
      };
      for (const b of this.s.bindings) add(this.s.roles[b[2]].r, b[1], b.slice(3), false);
      for (const d of this.s.delegations) add(d.rules, d.namespace, d.delegates, true);
      all.fill(UPDATE | EVERY, this.s.about.masters * n, (this.s.about.masters + 1) * n);
      return all;
    });
  }

  /**
   * The level of each subject on each kind: matrix[subject * kinds + kind].
   * @param {string} ns @returns {Uint8Array}
   */
  matrix(ns) {
    return this.once("matrix " + ns, () => {
      const n = this.kinds.length, direct = this.direct(ns), all = direct.slice();
      for (const x of this.subjects) for (const g of x.groups) for (let k = 0; k < n; k++) all[x.i * n + k] |= direct[g * n + k];
      for (let i = 0; i < all.length; i++) all[i] = levels[all[i] + (this.kinds[i % n].excluded ? 256 : 0)];
      return all;
    });
  }

  /**
   * The level of a subject on a kind. The matrix adds up bits, over parts and namespaces, so what it says of some
   * fields is at most so: the fields decide.
   * @param {any} kind @param {any} subject @param {string} ns @returns {number}
   */
  level(kind, subject, ns) {
    if (subject.i < 0) return this.decided(kind, subject, ns);
    const n = this.kinds.length, known = this.once("levels " + ns, () => new Int8Array(this.subjects.length * n).fill(-1));
    const at = subject.i * n + kind.i;
    if (known[at] < 0) known[at] = this.decided(kind, subject, ns);
    return known[at];
  }

  /** The level, computed. @param {any} kind @param {any} subject @param {string} ns @returns {number} */
  decided(kind, subject, ns) {
    const n = this.kinds.length, bits = g => this.direct(ns)[g * n + kind.i];
    const most = subject.i >= 0 ? this.matrix(ns)[subject.i * n + kind.i]
      : levels[subject.groups.reduce((all, g) => all | bits(g), 0) + (kind.excluded ? 256 : 0)];
    if (most === NO || most === ALL) return most;
    const best = here => {
      const cells = [...new Set(here.map(e => e.cell))].sort((a, b) => a - b);
      return this.once("best " + kind.i + " " + cells.join(), () => {
        const states = this.states(cells);
        return Math.max(...this.places(kind).map(p => this.may(states, p).level));
      });
    };
    return [NO, NAMED, SOME][Math.max(0, ...this.apart(this.held(kind, subject, ns)).map(best))];
  }

  /** How many subjects have any right on each kind, and kinds of each subject. @param {string} ns */
  totals(ns) {
    return this.once("totals " + ns, () => {
      const m = this.matrix(ns), n = this.kinds.length, kinds = new Int32Array(n), subjects = new Int32Array(this.subjects.length);
      for (let i = 0; i < m.length; i++) if (m[i]) { kinds[i % n]++; subjects[(i / n) | 0]++; }
      return { kinds, subjects };
    });
  }
}

/** Splits what is searched for into words; all have to be found. @param {string} [q] */
export const words = q => (q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
/** @param {string} lower @param {string[]} all */
export const matches = (lower, all) => all.every(w => lower.includes(w));
/** What has all words in its text, which is made once. @param {any[]} all @param {string} [q] @param {(x: any) => any[]} [text] */
export const find = (all, q, text = () => []) => all.filter(x => matches(x.lower ??= text(x).join(" ").toLowerCase(), words(q)));
