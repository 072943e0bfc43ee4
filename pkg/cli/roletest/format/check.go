// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"reflect"
	"slices"
	"strings"

	"kube-granular.dev/api/selection"
)

// requests are the fields of a Case that are requests. A case has exactly one.
var requests = []string{"create", "patch", "update", "apply", "scale", "delete", "get"}

// Request returns the name of the request of a case.
func (c *Case) Request() string {
	if all := c.requests(); len(all) == 1 {
		return all[0]
	}
	return ""
}

func (c *Case) requests() []string {
	v, fields := reflect.ValueOf(c).Elem(), fieldsOf(reflect.TypeFor[Case]())
	return slices.DeleteFunc(slices.Clone(requests), func(name string) bool {
		return v.FieldByIndex(fields[name].index).IsNil()
	})
}

// checkCase checks what the types do not say.
func checkCase(d decoder, c *Case, p place) {
	checkSubject(d, &c.As, p.field("as"))
	switch all := c.requests(); len(all) {
	case 0:
		d.fail(p, "has no request: one of %s", strings.Join(requests, ", "))
	case 1:
		checkRequest(d, c, p.field(all[0]))
	default:
		d.fail(p, "has several requests (%s), which are several cases", strings.Join(all, ", "))
	}
	switch e := p.field("expect"); expect := c.Expect.(type) {
	case nil:
	case string:
		if expect != "allowed" {
			d.fail(e, "must be allowed, or {refused: {field, needs}}")
		}
	default:
		var refused Expectation
		d.decode(expect, e, reflect.ValueOf(&refused).Elem())
		c.Refused = &refused.Refused
		if c.Refused.Field == "" && c.Refused.Needs == "" {
			d.fail(e, "a refusal names the field or the verb that it is about, because a request may be refused for many reasons")
		}
		if c.Refused.Field != "" && !strings.HasPrefix(c.Refused.Field, ".") {
			d.fail(e.field("refused").field("field"), "a path begins with a dot, such as .spec.replicas")
		}
	}
}

func checkRequest(d decoder, c *Case, p place) {
	switch {
	case c.Create != nil:
		checkObject(d, c.Create.Object, p)
	case c.Apply != nil:
		checkObject(d, c.Apply.Object, p)
	case c.Patch != nil:
		count := 0
		for _, given := range []bool{c.Patch.Merge != nil, c.Patch.Strategic != nil, c.Patch.JSON != nil} {
			if given {
				count++
			}
		}
		if count != 1 {
			d.fail(p, "needs exactly one of merge, strategic and json")
		}
	case c.Get != nil:
		g := c.Get
		if g.Name != "" && (g.Namespace != "" || g.Watch) {
			d.fail(p, "a name is for a single object, namespace and watch are for a list")
		}
		if g.Metadata && strings.Contains(g.Resource, "/") {
			d.fail(p, "the metadata alone is read of whole resources, not of a subresource")
		}
	}
	for _, t := range c.targets() {
		if t.Resource == "" || t.Name == "" {
			d.fail(p, "resource and name must not be empty")
		}
	}
}

func (c *Case) targets() []Target {
	switch {
	case c.Patch != nil:
		return []Target{c.Patch.Target}
	case c.Update != nil:
		return []Target{c.Update.Target}
	case c.Scale != nil:
		return []Target{c.Scale.Target}
	case c.Delete != nil:
		return []Target{*c.Delete}
	}
	return nil
}

func checkObject(d decoder, object map[string]any, p place) {
	for _, name := range []string{"apiVersion", "kind"} {
		if text, ok := object[name].(string); object != nil && (!ok || text == "") {
			d.fail(p.field("object").field(name), "is missing")
		}
	}
}

// assigned are groups that the server gives by itself. A certificate with one of them would make a
// test of a user that can't exist.
var assigned = []string{"system:unauthenticated", "system:serviceaccounts"}

// checkSubject checks a subject. The server checks no member of system:masters, so a test with one
// would pass whatever the roles say.
func checkSubject(d decoder, s *Subject, p place) {
	switch {
	case (s.User == "") == (s.ServiceAccount == ""):
		d.fail(p, "needs either user or serviceAccount")
	case strings.HasPrefix(s.User, "system:serviceaccount:"):
		d.fail(p.field("user"), "name a service account by serviceAccount: NAMESPACE/NAME")
	case s.User == "system:anonymous":
		d.fail(p.field("user"), "requests without a user can't be tested")
	case s.ServiceAccount != "" && len(s.Groups) > 0:
		d.fail(p.field("groups"), "the server gives a service account its groups")
	}
	if namespace, name, ok := strings.Cut(s.ServiceAccount, "/"); s.ServiceAccount != "" &&
		(!ok || namespace == "" || name == "" || strings.Contains(name, "/")) {
		d.fail(p.field("serviceAccount"), "must have the form NAMESPACE/NAME")
	}
	for i, group := range s.Groups {
		child := p.field("groups").item(i)
		switch {
		case group == "system:masters":
			d.fail(child, "a member of system:masters may do everything, so the test would prove nothing")
		case group == "":
			d.fail(child, "the name is empty")
		case slices.Contains(assigned, group) || strings.HasPrefix(group, "system:serviceaccounts:"):
			d.fail(child, "only the server puts a caller into this group")
		}
	}
	if s.Stamp != nil && (s.Stamp.Policy == "" || s.Stamp.Resource == "" || s.Stamp.Name == "") {
		d.fail(p.field("stamp"), "policy, resource and name must not be empty")
	}
	if s.Stamp != nil && s.Selects != nil {
		d.fail(p, "a request selects one authority, so either selects or stamp")
	}
	if s.Selects == nil {
		return
	}
	if s.Selects.Kind == selection.AuthorityDelegationKind && s.Selects.Namespace != "" {
		d.fail(p.field("selects").field("namespace"), "a delegation has no namespace")
	} else if _, err := s.Selects.Selection().Text(); err != nil {
		d.fail(p.field("selects"), "%s", strings.ReplaceAll(err.Error(), "authorityReference.", ""))
	}
}
