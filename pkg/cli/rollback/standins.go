// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/export"
)

// StandIns are what can hold on upstream's servers in place of granular roles, protected attributes and FieldPermissions.
type StandIns struct {
	result *export.Result
	// reasons say for which objects nothing stands in, and why; the others have "". Names are those of findings.
	reasons map[string]string
}

// command is how a file says where it comes from.
const command = "kube-granular preflight rollback --stand-ins"

// prefix is the beginning of the names of the policies.
const prefix = "rollback"

// StandInsOf reads a cluster and makes what stands in. What can't be expressed is left out, with the reason. kindsOf returns the
// kinds of the cluster with the definitions and FieldPermissions of some roles.
func StandInsOf(ctx context.Context, client dynamic.Interface, kindsOf func(*export.Roles) export.Kinds) (*StandIns, error) {
	found, err := read(ctx, client)
	if err != nil {
		return nil, err
	}
	out := &StandIns{reasons: map[string]string{}}
	chosen := newInput(found.definitions)
	for _, c := range found.candidates() {
		if c.reason != "" {
			out.reasons[c.name] = c.reason
			continue
		}
		with := chosen.with(c)
		result, err := with.export(kindsOf)
		if err != nil {
			out.reasons[c.name] = strings.TrimSpace(err.Error())
			continue
		}
		out.reasons[c.name], out.result, chosen = "", result, with
	}
	if out.result != nil {
		out.result.Objects = slices.DeleteFunc(out.result.Objects, chosen.unchanged)
	}
	return out, nil
}

// Write writes a file with what stands in. If nothing does, it is an error.
func (s *StandIns) Write(out io.Writer, server string) error {
	if s.result == nil {
		return errors.New("nothing stands in for anything, so there is no file")
	}
	return s.result.Write(out, command, server)
}

// Explain returns findings that also tell whether the file has what stands in, and if not, why.
func (s *StandIns) Explain(all []Finding) []Finding {
	out := slices.Clone(all)
	for i := range out {
		f := &out[i]
		reason, ok := s.reasons[f.Object]
		switch {
		case !ok || f.Effect == Left:
		case reason == "":
			f.What += "; the file has what stands in"
		default:
			f.What += "; nothing stands in: " + reason
		}
	}
	return out
}

// contents are the objects of a cluster from which an export is made.
type contents struct {
	definitions, attributes, entries, roles, bindings []*unstructured.Unstructured
}

func read(ctx context.Context, client dynamic.Interface) (*contents, error) {
	out := &contents{}
	for _, s := range sources {
		list := map[string]*[]*unstructured.Unstructured{
			"customresourcedefinitions": &out.definitions, "clusterprotectedattributes": &out.attributes, "protectedattributes": &out.attributes,
			"fieldpermissions": &out.entries, "clusterroles": &out.roles, "roles": &out.roles, "clusterrolebindings": &out.bindings,
		}[s.resource.Resource]
		if list == nil {
			continue
		}
		if err := each(ctx, client, s.resource, func(u *unstructured.Unstructured) { *list = append(*list, u) }); err != nil {
			return nil, err
		}
	}
	return out, each(ctx, client, rbac("rolebindings"), func(u *unstructured.Unstructured) { out.bindings = append(out.bindings, u) })
}

// candidate is an object for which something could stand in, with what an export of it needs.
type candidate struct {
	name   string
	object *unstructured.Unstructured
	// with are bindings, and other roles of their subjects.
	with []*unstructured.Unstructured
	// reason is why nothing needs to stand in, if that is known.
	reason string
}

// candidates returns the objects for which something could stand in.
func (c *contents) candidates() []candidate {
	var out []candidate
	for _, u := range c.entries {
		out = append(out, candidate{name: name("fieldpermissions", u), object: u})
	}
	for _, u := range c.attributes {
		role, _, _ := unstructured.NestedStringMap(u.Object, "spec", "roleRef")
		one := candidate{name: name(strings.ToLower(u.GetKind())+"s", u), object: u}
		if role["name"] != "" {
			one.with = c.naming(role["kind"], u.GetNamespace(), role["name"])
		}
		out = append(out, one)
	}
	for _, u := range c.roles {
		if !granular(u) {
			continue
		}
		one := candidate{name: name(strings.ToLower(u.GetKind())+"s", u), object: u, with: c.naming(u.GetKind(), u.GetNamespace(), u.GetName())}
		var subjects []any
		for _, b := range one.with {
			subjects = append(subjects, subjectsOf(b)...)
		}
		if len(subjects) == 0 {
			one.reason = "nobody has it"
		}
		one.with = append(one.with, c.others(u, subjects)...)
		out = append(out, one)
	}
	return out
}

// granular reports whether somebody gave a role the verb granular. Upstream's roles and those of the server stay.
func granular(u *unstructured.Unstructured) bool {
	if _, ok := u.GetLabels()[bootstrap]; ok || strings.HasPrefix(u.GetName(), owned) {
		return false
	}
	rules, _, _ := unstructured.NestedSlice(u.Object, "rules")
	return slices.ContainsFunc(rules, func(r any) bool {
		rule, _ := r.(map[string]any)
		verbs, _, _ := unstructured.NestedStringSlice(rule, "verbs")
		return slices.Contains(verbs, permission.General)
	})
}

// naming returns the bindings of a role. The attributes of a namespace may name a ClusterRole, which its bindings and those of the
// cluster name.
func (c *contents) naming(kind, namespace, role string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, b := range c.bindings {
		ref, _, _ := unstructured.NestedStringMap(b.Object, "roleRef")
		if ref["kind"] == kind && ref["name"] == role && (kind == "ClusterRole" || b.GetNamespace() == namespace) && len(subjectsOf(b)) > 0 {
			out = append(out, b)
		}
	}
	return out
}

func subjectsOf(binding *unstructured.Unstructured) []any {
	out, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	return out
}

// others returns the other bindings of some subjects, with these subjects alone, and their roles without permissions: a policy must
// not restrict who holds update by another role.
func (c *contents) others(than *unstructured.Unstructured, subjects []any) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, b := range c.bindings {
		ref, _, _ := unstructured.NestedStringMap(b.Object, "roleRef")
		shared := slices.DeleteFunc(subjectsOf(b), func(s any) bool {
			return !slices.ContainsFunc(subjects, func(other any) bool { return same(s, other, b.GetNamespace()) })
		})
		i := slices.IndexFunc(c.roles, func(r *unstructured.Unstructured) bool {
			return r.GetKind() == ref["kind"] && r.GetName() == ref["name"] && (r.GetNamespace() == "" || r.GetNamespace() == b.GetNamespace())
		})
		if len(shared) == 0 || i < 0 || c.roles[i] == than {
			continue
		}
		binding, role := b.DeepCopy(), c.roles[i].DeepCopy()
		binding.Object["subjects"] = shared
		delete(role.Object, "aggregationRule")
		role.SetLabels(nil)
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		for _, r := range rules {
			rule, _ := r.(map[string]any)
			verbs, _, _ := unstructured.NestedStringSlice(rule, "verbs")
			verbs = slices.DeleteFunc(verbs, permission.IsVerb)
			_ = unstructured.SetNestedStringSlice(rule, verbs, "verbs")
		}
		role.Object["rules"] = rules
		out = append(out, binding, role)
	}
	return out
}

// same reports whether two subjects are the same one. namespace is that of an account without one.
func same(a, b any, namespace string) bool {
	var one, other rbacv1.Subject
	for object, value := range map[*rbacv1.Subject]any{&one: a, &other: b} {
		fields, ok := value.(map[string]any)
		if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, object) != nil {
			return false
		}
		if object.Kind == rbacv1.ServiceAccountKind && object.Namespace == "" {
			object.Namespace = namespace
		}
	}
	return one.Kind == other.Kind && one.Namespace == other.Namespace && one.Name == other.Name
}

// input are the objects of one export. Those of which something stands in are whole; they replace the same ones that others need.
type input struct {
	order   []string
	objects map[string]*unstructured.Unstructured
	whole   map[string]bool
}

func newInput(definitions []*unstructured.Unstructured) *input {
	out := &input{objects: map[string]*unstructured.Unstructured{}, whole: map[string]bool{}}
	for _, d := range definitions {
		out.add(d, false)
	}
	return out
}

func keyOf(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

func (s *input) add(u *unstructured.Unstructured, whole bool) {
	key := keyOf(u)
	known, ok := s.objects[key]
	if !ok {
		s.order = append(s.order, key)
	}
	// A binding may be there with fewer subjects.
	if !ok || whole || !s.whole[key] && len(subjectsOf(u)) > len(subjectsOf(known)) {
		s.objects[key] = u
	}
	s.whole[key] = s.whole[key] || whole
}

// with returns an input with a candidate.
func (s *input) with(c candidate) *input {
	out := newInput(nil)
	for _, key := range s.order {
		out.add(s.objects[key], s.whole[key])
	}
	out.add(c.object, true)
	for _, u := range c.with {
		ref, _, _ := unstructured.NestedString(u.Object, "roleRef", "name")
		out.add(u, ref != "" && ref == c.object.GetName())
	}
	return out
}

func (s *input) export(kindsOf func(*export.Roles) export.Kinds) (*export.Result, error) {
	roles := export.NewRoles(corev1.NamespaceDefault)
	for _, key := range s.order {
		data, err := json.Marshal(own(s.objects[key]).Object)
		if err != nil {
			return nil, err
		}
		if err := roles.Add("the cluster", data); err != nil {
			return nil, err
		}
	}
	return export.Export(roles, kindsOf(roles), export.Options{Name: prefix})
}

// own returns an object with what its author wrote.
func own(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := u.DeepCopy()
	delete(out.Object, "status")
	metadata := map[string]any{"name": u.GetName()}
	out.Object["metadata"] = metadata
	if u.GetNamespace() != "" {
		out.SetNamespace(u.GetNamespace())
	}
	out.SetLabels(u.GetLabels())
	annotations := u.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	out.SetAnnotations(annotations)
	return out
}

// unchanged reports whether the cluster has an object already: a binding, or a role that is there for its subjects only.
func (s *input) unchanged(object runtime.Object) bool {
	switch o := object.(type) {
	case *admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding:
		return false
	case *rbacv1.ClusterRole:
		return !strings.HasPrefix(o.Name, owned) && !s.whole["ClusterRole /"+o.Name]
	case *rbacv1.Role:
		return !s.whole["Role "+o.Namespace+"/"+o.Name]
	case *rbacv1.ClusterRoleBinding:
		return !strings.HasPrefix(o.Name, owned)
	}
	return true
}
