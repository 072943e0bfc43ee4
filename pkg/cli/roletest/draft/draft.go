// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package draft

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// Draft is what a test is made of.
type Draft struct {
	Grants []roles.Grant
	// Name is the name of the roles and their bindings.
	Name     string
	Subject  rbacv1.Subject
	Requests []changes.Request
	Reads    []changes.Read
	// Objects are the stored objects that the requests are about.
	Objects []map[string]any
}

// Write writes the test.
func (d *Draft) Write(out io.Writer) error {
	given, err := d.given()
	if err != nil {
		return err
	}
	cases := []format.Case{}
	notes := []string{
		"A draft of a test: kube-granular test FILE. Add the definitions of custom resources to given,",
		"and cases for what the role must not allow.",
	}
	for _, read := range d.Reads {
		cases = append(cases, d.read(read))
	}
	for i := range d.Requests {
		c, err := d.write(&d.Requests[i])
		if err != nil {
			return err
		}
		if c == nil {
			notes = append(notes, fmt.Sprintf("An update that creates can't be a case, so this request is not here: %s", d.Requests[i].String()))
			continue
		}
		cases = append(cases, *c)
	}
	if len(d.Requests) > 0 && d.Requests[0].Name != "" {
		r := d.Requests[0]
		cases = append(cases, format.Case{
			Name: "an example of what must be refused", As: d.subject(), Delete: &format.Target{Resource: resource(&r, true), Name: name(&r)},
			Expect: format.Expectation{Refused: format.Refusal{Needs: "delete"}},
		})
	}
	return writeTest(out, notes, given, cases)
}

// writeTest writes a test, with notes as comments before it.
func writeTest(out io.Writer, notes []string, given []any, cases []format.Case) error {
	for _, note := range notes {
		if err := printing.Comment(out, note); err != nil {
			return err
		}
	}
	return printing.YAML(out, format.RoleTest{APIVersion: format.APIVersion, Kind: format.Kind, Given: given, Cases: cases})
}

// given returns the roles and bindings, the namespaces, the account, and the objects.
func (d *Draft) given() ([]any, error) {
	var roleObjects []any
	namespaces := map[string]bool{}
	add := func(namespace string) {
		if namespace != "" {
			namespaces[namespace] = true
		}
	}
	for i := range d.Grants {
		add(d.Grants[i].Namespace)
		for _, o := range d.Grants[i].Objects(d.Name, []rbacv1.Subject{d.Subject}) {
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return nil, err
			}
			roleObjects = append(roleObjects, clean(object))
		}
	}
	for i := range d.Requests {
		add(d.Requests[i].Namespace)
	}
	add(d.Subject.Namespace)
	out := namespaceObjects(namespaces)
	if d.Subject.Kind == rbacv1.ServiceAccountKind {
		out = append(out, object("ServiceAccount", map[string]any{"name": d.Subject.Name, "namespace": d.Subject.Namespace}))
	}
	out = append(out, roleObjects...)
	for _, o := range d.Objects {
		out = append(out, clean(o))
	}
	return out, nil
}

func namespaceObjects(names map[string]bool) []any {
	var out []any
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, object("Namespace", map[string]any{"name": name}))
	}
	return out
}

func object(kind string, metadata map[string]any) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": metadata}
}

func (d *Draft) subject() format.Subject {
	switch d.Subject.Kind {
	case rbacv1.ServiceAccountKind:
		return format.Subject{ServiceAccount: d.Subject.Namespace + "/" + d.Subject.Name}
	case rbacv1.GroupKind:
		return format.Subject{User: "a-member", Groups: []string{d.Subject.Name}}
	}
	return format.Subject{User: d.Subject.Name}
}

func (d *Draft) read(r changes.Read) format.Case {
	get := &format.Get{Resource: kinds.Qualified(r.Group, r.Resource), Name: r.Name, Watch: r.Verb == "watch" && r.Name == ""}
	switch {
	case r.Name == "":
		get.Namespace = r.Namespace
	case r.Namespace != "":
		get.Name = r.Namespace + "/" + r.Name
	}
	if r.Below != "" {
		get.Resource += "/" + r.Below
	}
	return format.Case{As: d.subject(), Get: get, Expect: "allowed"}
}

// write returns the case of a request, or nil if no case can be the request.
func (d *Draft) write(r *changes.Request) (*format.Case, error) {
	c := &format.Case{As: d.subject(), Expect: "allowed"}
	body, err := yaml.YAMLToJSON(r.Body)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, err
	}
	if r.Verb == "update" {
		if value, err = d.difference(r, value); value == nil || err != nil {
			return nil, err
		}
	}
	hideCopies(value)
	if isSecret(r.Kind.Resource) {
		hideRequest(value)
	}
	content, _ := value.(map[string]any)
	target := format.Target{Resource: resource(r, false), Name: name(r)}
	switch {
	case r.Verb == "create":
		c.Create = &format.Create{Object: content}
		if r.Subresource != "" {
			c.Create.Resource = target.Resource
		}
	case r.Verb == "update":
		c.Update = &format.Update{Target: target, Merge: content}
	case r.PatchType == types.ApplyPatchType:
		c.Apply = &format.Apply{Object: content, Manager: r.Query.Get("fieldManager"), Force: r.Query.Get("force") == "true"}
		if r.Subresource != "" {
			c.Apply.Resource = target.Resource
		}
	case r.PatchType == types.JSONPatchType:
		list, _ := value.([]any)
		c.Patch = &format.Patch{Target: target, JSON: list}
	case r.PatchType == types.StrategicMergePatchType:
		c.Patch = &format.Patch{Target: target, Strategic: content}
	default:
		c.Patch = &format.Patch{Target: target, Merge: content}
	}
	return c, nil
}

// difference returns what an update changes in its stored object, as a merge patch. It returns nil if there is no
// such object.
func (d *Draft) difference(r *changes.Request, updated any) (any, error) {
	content, _ := updated.(map[string]any)
	i := slices.IndexFunc(d.Objects, func(o map[string]any) bool {
		stored := unstructured.Unstructured{Object: o}
		return stored.GetKind() == r.Kind.Kind.Kind && stored.GetNamespace() == r.Namespace && stored.GetName() == r.Name
	})
	if i < 0 || r.Subresource != "" || content == nil {
		return nil, nil
	}
	before, err := json.Marshal(bare(d.Objects[i]))
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(bare(content))
	if err != nil {
		return nil, err
	}
	change, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	return out, json.Unmarshal(change, &out)
}

func resource(r *changes.Request, whole bool) string {
	text := r.Kind.Resource.GroupResource().String()
	if !whole && r.Subresource != "" {
		text += "/" + r.Subresource
	}
	return text
}

func name(r *changes.Request) string {
	if r.Namespace != "" {
		return r.Namespace + "/" + r.Name
	}
	return r.Name
}
