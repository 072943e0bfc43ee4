// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// Target is a resource or subresource that a role names.
type Target struct {
	Resource kubeschema.GroupVersionResource
	// Subresource is "" for the resource itself.
	Subresource string
	Tree        *schema.Tree
	// Namespaced is set if a RoleBinding grants something on it.
	Namespaced bool
	// Custom is set for a custom resource.
	Custom bool
	// HasStatus is set if the resource has a subresource status.
	HasStatus bool
	// Stores are the other subresources that write fields of the object and send all of it, such as resize.
	Stores []string
	// HasScale is set if the resource has a subresource scale, and ScalePath is the field that it writes, if that is known.
	HasScale  bool
	ScalePath string
	// Idle are the exclusions of FieldPermissions that have no effect, with the reason: the fields do not exist.
	Idle []string
}

// String returns the target as in a message: deployments.apps/status.
func (t *Target) String() string {
	return kinds.Qualified(t.Resource.Group, t.resource())
}

func (t *Target) resource() string {
	if t.Subresource != "" {
		return t.Resource.Resource + "/" + t.Subresource
	}
	return t.Resource.Resource
}

// unadmitted is the group whose objects no admission policy sees, so that update would be open there.
const unadmitted = "admissionregistration.k8s.io"

// exported is a policy, and whether the ordinary role has create beside update and patch.
type exported struct {
	policy  *admissionv1.ValidatingAdmissionPolicy
	binding *admissionv1.ValidatingAdmissionPolicyBinding
	creates bool
}

// policyFor returns the policy that holds the grants on a target.
func policyFor(name string, t *Target, all grants) (*exported, error) {
	if t.Resource.Group == unadmitted {
		return nil, fmt.Errorf("%s: the server asks no admission policy about resources of %s, so update and patch would be open", t, unadmitted)
	}
	updates, patches := all.holding("update", never), all.holding("patch", never)
	if updates != patches {
		return nil, fmt.Errorf("%s: a subject holds one of update and patch, and a policy can't tell a PUT from a PATCH; "+
			"grant it both, or none", t)
	}
	base := or(and(isUpdate, updates), and(isCreate, all.holding("create", never)))
	e := &emitter{grants: all, base: never, known: all.scope()}
	if t.Subresource == "" && t.resetsStatus() {
		e.reset = []string{"status"}
	}
	for _, child := range t.Tree.Root.Fields() {
		if !t.Custom && t.Tree.Schema().Field(child.Field).OnlyDefaults(map[string]any{}, false) {
			e.present = append(e.present, child.Field)
		}
	}
	excluded := t.Tree.HasExcluded()
	if excluded {
		e.base, e.known = base, or(base, all.scope())
	}
	match := []admissionv1.MatchCondition{{Name: "subjects", Expression: or(e.known, holdsStandIn(name))}}
	if !excluded && base != never {
		match = append(match, admissionv1.MatchCondition{Name: "no-ordinary-verb", Expression: "!(" + base + ")"})
	}
	creates, err := e.creates(t.Tree)
	if err != nil {
		return nil, err
	}
	creates = creates && t.Subresource == ""
	e.creating = creates || excluded && t.Subresource == ""
	if err := e.object(t.Tree); err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	if len(e.validations) == 0 {
		return nil, fmt.Errorf("%s: the role allows every change, so grant update and patch", t)
	}
	if err := e.rollback(t); err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	// A server answers with the first refusal, so the most general ones come first.
	fields := e.validations
	e.validations = nil
	e.validate(e.known, "the caller has the role by a binding that is not in the export; export the roles again with all bindings")
	e.validate("request.resource.version == "+quote(t.Resource.Version), "the policy is written for version "+t.Resource.Version+
		" of the resource; use this version or, if the server has no such version any more, export the roles again")
	e.validations = append(e.validations, fields...)
	operations := []admissionv1.OperationType{admissionv1.Update}
	if e.creating {
		operations = append(operations, admissionv1.Create)
	}
	// A rule for one version would not match any more when the server stops serving it.
	policy := newPolicy(policyName(name, t), operations, admissionv1.Rule{APIGroups: []string{t.Resource.Group},
		APIVersions: []string{"*"}, Resources: []string{t.resource()}})
	policy.Spec.MatchConditions, policy.Spec.Variables, policy.Spec.Validations = match, e.variables, e.validations
	if err := checkCost(policy); err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return &exported{policy: policy, creates: creates, binding: bindingOf(policy)}, nil
}

// managed and manager are the label of the policies and their bindings.
const (
	managed = "app.kubernetes.io/managed-by"
	manager = "kubectl-granular"
)

// newPolicy returns a policy for what a rule matches, which refuses if an expression fails.
func newPolicy(name string, operations []admissionv1.OperationType, rule admissionv1.Rule) *admissionv1.ValidatingAdmissionPolicy {
	fail, equivalent := admissionv1.Fail, admissionv1.Equivalent
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{managed: manager}},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &equivalent,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: operations, Rule: rule,
				}}},
			},
		},
	}
}

// bindingOf returns a binding that puts a policy in force.
func bindingOf(policy *admissionv1.ValidatingAdmissionPolicy) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: policy.ObjectMeta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
}

// creates reports whether the permissions may cover the metadata of a new object, without which no
// caller creates one.
func (e *emitter) creates(tree *schema.Tree) (bool, error) {
	n := tree.Root.Child("metadata")
	if n == nil {
		return false, errors.New("the schema has no metadata")
	}
	without := *e
	without.grants = nil
	for _, g := range e.grants {
		if len(g.names) == 0 {
			without.grants = append(without.grants, g)
		}
	}
	c, err := without.below(cover{never, never}, n, place{keys: map[int][]string{}})
	return c.condition() != never, err
}

// resetsStatus reports whether the server replaces the status of a new object, so that it is not the caller's.
func (t *Target) resetsStatus() bool {
	return t.HasStatus && (t.Custom || !keepsStatus[t.Resource.GroupResource()])
}

// keepsStatus are the resources with a subresource status that store the status of a create.
var keepsStatus = map[kubeschema.GroupResource]bool{{Resource: "nodes"}: true}

// rollback closes the annotation with which a controller restores an old template. In the server, it is a field of the
// specification.
func (e *emitter) rollback(t *Target) error {
	spec := t.Tree.Root.Child("spec")
	if t.Resource.GroupResource() != deployments || t.Subresource != "" || spec == nil {
		return nil
	}
	c := cover{included: e.base, excluded: never}
	root := place{keys: map[int][]string{}}
	for _, step := range []struct {
		node *schema.Node
		at   place
	}{{t.Tree.Root, root}, {spec, root.field(spec, "variables.old", "variables.new")}} {
		var err error
		if c, err = e.below(c, step.node, step.at); err != nil {
			return err
		}
	}
	const annotation = `.?metadata.?annotations[?"` + rollbackAnnotation + `"]`
	same := "variables.old" + annotation + " == variables.new" + annotation
	e.validate(or(c.condition(), same), e.message(".metadata.annotations["+rollbackAnnotation+"]", spec))
	return nil
}

// rollbackAnnotation makes the deployment controller restore an old template.
const rollbackAnnotation = "deprecated.deployment.rollback.to"

var deployments = kubeschema.GroupResource{Group: "apps", Resource: "deployments"}

// written are the subresources that can be updated or patched.
var written = []string{"approval", "ephemeralcontainers", "finalize", "resize", "scale", "status"}

// policyName returns the name of the policy of a target. No other target has the same one, because a policy that is applied
// replaces one of the same name.
func policyName(name string, t *Target) string {
	resource := strings.ReplaceAll(t.resource(), "/", "-")
	plural := t.Resource.Resource
	if strings.Contains(plural, "-") || slices.Contains(written, plural) || strings.HasPrefix(name+"-", fieldPrefix) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name + "\n" + t.resource()))
		resource += fmt.Sprintf("-%08x", h.Sum32())
	}
	return name + "-" + resource + "." + cmp.Or(t.Resource.Group, "core")
}
