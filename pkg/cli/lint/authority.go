// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
)

// attribute checks a ProtectedAttribute or a ClusterProtectedAttribute as the server does when it
// is created.
func (l *objectLinter) attribute(node *yaml.Node, scope validation.Scope) error {
	var a v1alpha1.ProtectedAttribute
	if ok, err := l.read(node, &a); !ok {
		return err
	}
	v1alpha1.SetObjectDefaults_ProtectedAttribute(&a)
	l.reportErrors(node, validation.Attribute(l.defaultNamespace(&a.ObjectMeta, scope == validation.Namespaced), &a.Spec, scope))
	if len(a.Spec.Resources) == 0 {
		l.report(node, Warning, "without spec.resources, the attribute protects objects of all resources, including custom resources")
	}
	return nil
}

// delegation checks an AuthorityDelegation as the server does when it is created. It also checks
// the rules of the delegation like those of a role, and the syntax of its conditions.
func (l *objectLinter) delegation(node *yaml.Node) error {
	var d v1alpha1.AuthorityDelegation
	if ok, err := l.read(node, &d); !ok {
		return err
	}
	v1alpha1.SetObjectDefaults_AuthorityDelegation(&d)
	l.defaultNamespace(&d.ObjectMeta, false)
	l.reportErrors(node, validation.Delegation(&d))
	l.delegated(node, d.Spec.Conditions)
	if d.Spec.IfLost == v1alpha1.LossKeep && d.Spec.ExpirationTimestamp == nil && d.Spec.IdleSeconds == nil {
		l.report(at(node, "spec"), Warning, "the delegation never expires, even if its delegator loses the permissions: set expirationTimestamp or idleSeconds, or ifLost: Withdraw")
	}
	return nil
}

// policy checks an AuthorityDelegationPolicy as the server does when it is created, except for the
// permissions in spec.neutral. It also checks what it delegates like delegation.
func (l *objectLinter) policy(node *yaml.Node) error {
	var p v1alpha1.AuthorityDelegationPolicy
	if ok, err := l.read(node, &p); !ok {
		return err
	}
	v1alpha1.SetObjectDefaults_AuthorityDelegationPolicy(&p)
	l.reportErrors(node, validation.DelegationPolicy(&p))
	l.delegated(node, p.Spec.Conditions)
	return nil
}

// delegated checks the rules of a delegation or policy like those of a role, and the syntax of its
// conditions.
func (l *objectLinter) delegated(node *yaml.Node, conditions []v1alpha1.DelegationCondition) {
	l.role(at(node, "spec"))
	for i, c := range items(at(node, "spec", "conditions")) {
		written := at(c, "expression")
		if written == nil || i >= len(conditions) {
			continue
		}
		if message := syntaxError(conditions[i].Expression); message != "" {
			l.report(written, Error, "expression does not compile: %s", message)
		}
	}
}

// syntaxError returns the first syntax error of a CEL expression, or "". It does not check the
// types, because only the server knows the functions and variables.
func syntaxError(expression string) string {
	env, err := cel.NewEnv()
	if err != nil {
		return err.Error()
	}
	_, issues := env.Parse(expression)
	if issues.Err() == nil {
		return ""
	}
	first := issues.Errors()[0]
	return fmt.Sprintf("column %d: %s", first.Location.Column()+1, strings.TrimSpace(first.Message))
}

// defaultNamespace sets an empty namespace of a namespaced object to "default", as kubectl does.
func (l *objectLinter) defaultNamespace(defaultNamespace *metav1.ObjectMeta, namespaced bool) *metav1.ObjectMeta {
	if namespaced && defaultNamespace.Namespace == "" {
		defaultNamespace.Namespace = metav1.NamespaceDefault
	}
	return defaultNamespace
}

// strictFieldError matches the errors of the strict decoder for an unknown field, and for a field
// that an object has twice.
var strictFieldError = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)

// read decodes an object into a Go type. If the object does not have this type, read reports a
// finding and returns false. Unknown and duplicate fields are findings too.
func (l *objectLinter) read(node *yaml.Node, target any) (bool, error) {
	var decoded any
	if err := node.Decode(&decoded); err != nil {
		return false, err
	}
	data, err := json.Marshal(decoded)
	if err != nil {
		return false, fmt.Errorf("an object is not JSON: %w", err)
	}
	strict, err := kjson.UnmarshalStrict(data, target)
	if err != nil {
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) {
			l.report(nodeAtPath(node, typed.Field), Error, "%s is not of the type %s", typed.Field, typed.Type)
			return false, nil
		}
		l.report(node, Error, "the object can't be decoded: %v", err)
		return false, nil
	}
	for _, err := range strict {
		if found := strictFieldError.FindStringSubmatch(err.Error()); found != nil {
			l.report(nodeAtPath(node, found[2]), Error, "%s field %s", found[1], found[2])
			continue
		}
		l.report(node, Error, "%v", err)
	}
	return true, nil
}

// reportErrors reports validation errors as findings, each at the YAML node of its field.
func (l *objectLinter) reportErrors(node *yaml.Node, errs field.ErrorList) {
	for _, err := range errs {
		l.report(nodeAtPath(node, err.Field), Error, "%s: %s", err.Field, err.ErrorBody())
	}
}

// nodeAtPath returns the YAML node at a path such as spec.rules[0].verbs. If there is none, it
// returns the nearest ancestor that exists.
func nodeAtPath(node *yaml.Node, path string) *yaml.Node {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := value(node, step)
		if i, err := strconv.Atoi(step); err == nil && next == nil && i >= 0 && i < len(items(node)) {
			next = items(node)[i]
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}
