// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/permission"
)

// FieldLimits are what policies about FieldPermissions can't hold.
var FieldLimits = []string{
	"FieldPermissions: what a webhook sets counts as the caller's. There is no count, and exclusions in mode Audit are left out: use the " +
		"binding's validationActions to try a policy. Who deletes a policy or its binding opens the fields. So does an upgrade after which " +
		"the server does not serve the version of a FieldPermission any more: export again. A custom resource can be written through the " +
		"version of the policy alone.",
}

// fieldPolicies returns the policies of all FieldPermissions whose exclusions are in force. They restrict all callers.
func (e *exporter) fieldPolicies(prefix string, all []*overlay.Entries) ([]runtime.Object, error) {
	var out []runtime.Object
	for _, entries := range all {
		if !entries.Excludes() {
			continue
		}
		if !entries.Enforced {
			e.note("the FieldPermission %s is in mode Audit, which refuses nothing, so its exclusions are left out", entries.Source)
			continue
		}
		e.note("the exclusions of FieldPermissions stop the controllers of the cluster too, such as the garbage collector, which "+
			"removes finalizers: grant those that write such a field the verb bypass on fieldpermissions.%s", v1alpha1.GroupName)
		name := fieldPolicyName(prefix, entries.Source)
		policies, err := e.fieldPoliciesIn(name, kubeschema.ParseGroupResource(entries.Source), entries)
		if err != nil {
			return nil, err
		}
		if entries.Source == overlay.Pods.String() {
			inTemplates, err := e.templatePolicies(name, entries)
			if err != nil {
				return nil, err
			}
			policies = append(policies, inTemplates...)
		}
		for _, p := range policies {
			out = append(out, p, bindingOf(p))
		}
	}
	return out, nil
}

func fieldPolicyName(prefix, source string) string {
	if prefix != "" {
		prefix += "-"
	}
	return prefix + fieldPrefix + source
}

// fieldPrefix is how names of policies of FieldPermissions begin.
const fieldPrefix = "field-permission-"

// fieldPoliciesIn returns the policies that hold the exclusions of one FieldPermission in a resource.
func (e *exporter) fieldPoliciesIn(
	name string, resource kubeschema.GroupResource, entries *overlay.Entries,
) ([]*admissionv1.ValidatingAdmissionPolicy, error) {
	t, err := e.kinds.TargetWith(entries, resource.Group, resource.Resource)
	if err != nil {
		return nil, err
	}
	if t == nil {
		e.note("the server has no resource %s, so the FieldPermission %s is left out there", resource, entries.Source)
		return nil, nil
	}
	if len(t.Idle) > 0 {
		return nil, fmt.Errorf("FieldPermission %s: version %s of %s, for which the policy would be, has no field %s: correct the path, "+
			"or remove the entry (the FieldPermission is for version %s)",
			entries.Source, t.Resource.Version, resource, strings.Join(t.Idle, ", "), entries.Version)
	}
	policies, err := fieldPolicy(name, t, entries)
	if err != nil {
		return nil, fmt.Errorf("FieldPermission %s: %s: %w", entries.Source, resource, err)
	}
	return policies, nil
}

// fieldPolicy returns the policies that hold the exclusions of one FieldPermission in a target.
func fieldPolicy(name string, t *Target, entries *overlay.Entries) ([]*admissionv1.ValidatingAdmissionPolicy, error) {
	e := &emitter{base: always, creating: true, asked: map[string]string{}}
	bypass := fmt.Sprintf(`authorizer.group(%q).resource("fieldpermissions").name(%s).check("bypass").allowed()`,
		v1alpha1.GroupName, quote(entries.Source))
	e.variable("bypass", bypass)
	for _, p := range t.Tree.Permissions() {
		if !p.Excluded || !p.Entry {
			continue
		}
		variable := fmt.Sprintf("may%d", len(e.asked))
		e.asked[p.Name] = "variables." + variable
		e.variable(variable, or(asks(permission.Verb{Permission: p.Name}.String()), "variables.bypass"))
	}
	if len(e.asked) == 0 {
		return nil, errors.New("no exclusion is in force: the fields do not exist, or the author excludes them")
	}
	e.oneVersion(t)
	if err := e.object(t.Tree); err != nil {
		return nil, err
	}
	resources := []string{t.Resource.Resource}
	if t.HasStatus {
		resources = append(resources, t.Resource.Resource+"/status")
	}
	for _, name := range t.Stores {
		resources = append(resources, t.Resource.Resource+"/"+name)
	}
	policy := newPolicy(name, []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}, admissionv1.Rule{
		APIGroups: []string{t.Resource.Group}, APIVersions: []string{t.Resource.Version}, Resources: resources})
	policy.Spec.Variables, policy.Spec.Validations = e.variables, e.validations
	if err := checkCost(policy); err != nil {
		return nil, err
	}
	out := []*admissionv1.ValidatingAdmissionPolicy{policy}
	if !t.HasScale {
		return out, nil
	}
	if t.ScalePath == "" {
		return nil, fmt.Errorf("%s has the subresource scale, and a server does not publish which field that writes: "+
			"add the definition to the files", t)
	}
	scale := &emitter{}
	scale.variable("bypass", bypass)
	var may []string
	for i, f := range entries.Fields {
		if path := f.Path.String(); f.Excluded && (within(t.ScalePath, path) || within(path, t.ScalePath)) {
			variable := fmt.Sprintf("may%d", i)
			scale.variable(variable, or(asks(permission.Verb{Permission: f.Permission}.String()), "variables.bypass"))
			may = append(may, "variables."+variable)
		}
	}
	scale.oneVersion(t)
	if len(may) > 0 {
		// The entry nearest to the field covers it.
		same := "object.?spec.?replicas == oldObject.?spec.?replicas"
		scale.validate(or(same, may[nearest(entries, t.ScalePath)]), "the caller may not change "+t.ScalePath+" by scale")
	} else if !t.Custom {
		return out, nil
	}
	policy = newPolicy(name+".scale", []admissionv1.OperationType{admissionv1.Update}, admissionv1.Rule{
		APIGroups: []string{t.Resource.Group}, APIVersions: []string{t.Resource.Version}, Resources: []string{t.Resource.Resource + "/scale"}})
	policy.Spec.Variables, policy.Spec.Validations = scale.variables, scale.validations
	return append(out, policy), checkCost(policy)
}

// oneVersion refuses writes of a custom resource through another version. The server prunes by the schema of the version of
// the request before it converts, the old object too, so a field that this version lacks would be gone on both sides.
func (e *emitter) oneVersion(t *Target) {
	if t.Custom {
		e.validate(or("request.requestResource.version == "+quote(t.Resource.Version), "variables.bypass"),
			"the policy is written for version "+t.Resource.Version+" of the resource, and another version may lack an excluded field: "+
				"use this version")
	}
}

// within reports whether a path is another one or below it.
func within(path, around string) bool {
	rest, ok := strings.CutPrefix(path, around)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// nearest returns the index, among the exclusions around a path, of the innermost one.
func nearest(entries *overlay.Entries, path string) int {
	out, length, n := 0, -1, 0
	for _, f := range entries.Fields {
		text := f.Path.String()
		if !f.Excluded || !within(path, text) && !within(text, path) {
			continue
		}
		if len(text) > length {
			out, length = n, len(text)
		}
		n++
	}
	return out
}
