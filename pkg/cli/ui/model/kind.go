// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// Verb is a permission verb.
type Verb struct {
	// Verb is the verb as in a role: granular:replicas, granular:label(<label-key prefix>).
	Verb string `json:"v"`
	// Parameter is what the parameter stands for, such as "label-key prefix". It is empty if the verb
	// takes none. Then Verb can stand in a role as it is. Otherwise a role has Stem, "(", the parameter, ")".
	Parameter string `json:"p,omitempty"`
	Stem      string `json:"s,omitempty"`
	// Excluded is true if update and patch do not include the permission.
	Excluded bool `json:"x,omitempty"`
}

// Field is a field of a kind, or [*] for the elements of a map or a list.
type Field struct {
	Name string `json:"n"`
	Type string `json:"t,omitempty"`
	// Text is an index of Texts: the description, or 0 for none. Texts[0] is empty.
	Text int `json:"d,omitempty"`
	// Own are the verbs that are declared at the field, most general first.
	Own []int `json:"o,omitempty"`
	// Cover are all verbs of which one allows a change of the field, most general first, so the last
	// one is the least. If it is empty, no permission allows a change: only update does.
	Cover []int `json:"c,omitempty"`
	// Excluded is true if update and patch do not include the field: a holder of update needs a verb of
	// Cover too.
	Excluded bool `json:"x,omitempty"`
	// Scope is the prefix of all permissions below, such as podTemplate, if one begins here.
	Scope string `json:"s,omitempty"`
	// System is true if only the server writes the field. Nobody else needs a permission.
	System bool `json:"y,omitempty"`
	// Fields are the fields below that have permissions of their own or have such fields below.
	Fields []int `json:"f,omitempty"`
	// Rest are the names of the other fields below. They, and all that is below them, are covered by
	// Cover of this field.
	Rest []string `json:"r,omitempty"`
}

// Kind is a resource with the kind of its objects.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Resource is the plural name, such as deployments.
	Resource   string   `json:"resource"`
	ShortNames []string `json:"shortNames,omitempty"`
	Namespaced bool     `json:"namespaced,omitempty"`
	// Root is the field of the whole object.
	Root int `json:"root"`
	// Parts are the resource itself and its subresources. The first is the resource itself.
	Parts []Part `json:"parts"`
	// Through has, for the first name of a path, such as status, the Parts through which the field is
	// changed. A name that is not there is changed through Parts[0].
	Through map[string][]int `json:"through,omitempty"`
	// Excluded is true if a field of the kind is excluded.
	Excluded bool `json:"excluded,omitempty"`
	// Protected are the protected attributes that apply to objects of the kind.
	Protected []int `json:"protected,omitempty"`
	// Delegations are the delegations whose rules change fields of the kind.
	Delegations []int `json:"delegations,omitempty"`
	// Rank says how much harm a change can do, for "worst first": 3 if a field is excluded or protected,
	// 2 for secrets and for roles, bindings and admission, 0 for others.
	Rank int `json:"rank,omitempty"`
}

// Part is a resource or a subresource through which fields are changed.
type Part struct {
	// Name is "" for the resource itself, or status, scale.
	Name string `json:"name,omitempty"`
	// Kind is the kind of the objects of the subresource, if that is another one, such as Scale.
	Kind string `json:"kind,omitempty"`
	// Fields are the fields of Kind with verbs. A field of the resource with the same path can be changed
	// through this part as well, with the verbs here.
	Fields []PartField `json:"fields,omitempty"`
}

// PartField is a field of a subresource with objects of another kind.
type PartField struct {
	Path     string `json:"path"`
	Cover    []int  `json:"c"`
	Excluded bool   `json:"x,omitempty"`
}
