// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/permission"
)

// templatePolicies returns the policies that hold the exclusions of pods in the kinds with a pod template. name
// is the beginning of their names.
func (e *exporter) templatePolicies(name string, pods *overlay.Entries) ([]*admissionv1.ValidatingAdmissionPolicy, error) {
	var out []*admissionv1.ValidatingAdmissionPolicy
	for _, resource := range overlay.HoldsIn() {
		entries := overlay.InForce(resource, nil, pods)
		if !entries.Enforces() {
			continue
		}
		name := name + ".in." + resource.String()
		if entries.WithoutNamed() != entries {
			policy, err := e.historyPolicy(name, entries)
			if err != nil {
				return nil, err
			}
			out = append(out, policy)
			continue
		}
		policies, err := e.fieldPoliciesIn(name, resource, entries)
		if err != nil {
			return nil, err
		}
		out = append(out, policies...)
	}
	return out, nil
}

// historyPolicy returns the policy for ControllerRevisions, from whose data controllers make pods. An expression
// can't search the data for a name, so a caller needs all verbs to create any, or bypass.
func (e *exporter) historyPolicy(name string, entries *overlay.Entries) (*admissionv1.ValidatingAdmissionPolicy, error) {
	e.note("a policy can't search the history of DaemonSets and StatefulSets for a field of pods, so it refuses every "+
		"ControllerRevision of a caller without all verbs of the FieldPermission %s: grant daemon-set-controller and statefulset-controller the verb bypass", entries.Source)
	var verbs []string
	for _, f := range entries.Fields {
		verbs = append(verbs, asks(permission.Verb{Permission: f.Permission}.String()))
	}
	policy := newPolicy(name, []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}, admissionv1.Rule{
		APIGroups: []string{"apps"}, APIVersions: []string{entries.Version}, Resources: []string{"controllerrevisions"}})
	em := &emitter{}
	em.variable("bypass", fmt.Sprintf(`authorizer.group(%q).resource("fieldpermissions").name(%s).check("bypass").allowed()`,
		v1alpha1.GroupName, quote(entries.Source)))
	em.validate(or(or("oldObject != null && oldObject.data == object.data", "variables.bypass"), "("+strings.Join(verbs, " && ")+")"),
		"the caller may not write a pod template that can have a field which is closed for pods")
	policy.Spec.Variables, policy.Spec.Validations = em.variables, em.validations
	return policy, checkCost(policy)
}
