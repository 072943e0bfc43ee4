// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

// The functions below return the condition that labels or annotations at a location stay as they are, or the caller is
// admitted to their old and new values: admitted is a condition of value.

// unchanged is about one key of one object.
func (l *location) unchanged(attributes, key, admitted string) string {
	value := func(object string) string { return l.labels(object, attributes) + "[?" + quote(key) + "]" }
	return bind("old", value("variables.old"), bind("new", value("variables.new"),
		"old == new || [old, new].all(v, !v.hasValue() || "+bind("value", "v.value()", admitted)+")"))
}

// unchangedDomain is about the keys of a domain of one object: others is the condition that a key k is none of them.
func (l *location) unchangedDomain(attributes, others, admitted string) string {
	value := func(object string) string { return l.labels(object, attributes) + ".orValue({})" }
	return bind("old", value("variables.old"), bind("new", value("variables.new"),
		"old == new || [old, new].all(m, m.all(k, "+or(others, "old[?k] == new[?k]", bind("value", "m[k]", admitted))+"))"))
}

// unchangedElements is about one key of the elements of a list, which are told apart by their names.
func (l *location) unchangedElements(attributes, key, admitted string) string {
	value := func(labels string) string { return labels + "[?" + quote(key) + "]" }
	return bind("old", l.elements("variables.old", attributes, value), bind("new", l.elements("variables.new", attributes, value),
		"old == new || (old + new).all(p, p in old && p in new || !p[1].hasValue() || "+bind("value", "p[1].value()", admitted)+")"))
}

// unchangedDomains is about the keys of a domain of the elements of a list.
func (l *location) unchangedDomains(attributes, others, admitted string) string {
	value := func(labels string) string { return labels + ".orValue({})" }
	same := "s.size() == 1 && t.size() == 1 && s[0][1][?k] == t[0][1][?k]"
	each := bind("s", "old.filter(q, q[0] == p[0])", bind("t", "new.filter(q, q[0] == p[0])",
		"p[1].all(k, "+or(others, same, bind("value", "p[1][k]", admitted))+")"))
	return bind("old", l.elements("variables.old", attributes, value), bind("new", l.elements("variables.new", attributes, value),
		"old == new || (old + new).all(p, "+each+")"))
}
