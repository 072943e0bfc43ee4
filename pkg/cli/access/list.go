// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// FieldList lists what a caller may change of one object.
type FieldList struct {
	Items []Item `json:"items"`
	// Incomplete says why an authorizer could not list the caller's rules. Then Items may lack
	// verbs with parameters that the caller holds. It is empty if the rules are complete.
	Incomplete string `json:"incomplete,omitempty"`
}

// Item is one field with a permission verb.
type Item struct {
	// Resource is the resource to write: deployments.apps, deployments.apps/status.
	Resource string `json:"resource"`
	Field    string `json:"field"`
	Verb     string `json:"verb"`
	// Allowed is Yes, No or Some.
	Allowed string `json:"allowed"`
	// By is the verb that allows the change, or for "some" the verbs with parameters that the
	// caller holds.
	By string `json:"by,omitempty"`
	// Reason is the authorizer's reason for allowing the verb of By, or the first of them.
	Reason string `json:"reason,omitempty"`
}

// The values of Item.Allowed. Some means that the caller holds the verb with certain parameters only. Unknown means that
// update or patch allows the change, unless a FieldPermission excludes the field.
const (
	Yes     = "yes"
	No      = "no"
	Some    = "some"
	Unknown = "unknown"
)

// WithoutEntries makes the answers unknown that would be another one if a FieldPermission excludes the field.
func (l *FieldList) WithoutEntries() {
	for i := range l.Items {
		if item := &l.Items[i]; item.Allowed == Yes && (item.By == "update" || item.By == "patch") {
			item.Allowed = Unknown
		}
	}
}

// List returns the fields of an object and of its subresources that have a permission verb, and
// for each field whether the caller may change it. If subresource is not "", it lists only the fields
// of this subresource.
func List(ctx context.Context, client authorizationclient.AuthorizationV1Interface, k *kinds.Kind, namespace, name, subresource string) (*FieldList, error) {
	reviews, out := NewReviews(client), &FieldList{Items: []Item{}}
	// The review needs a namespace. For an object without one, it may also list rules that do not count
	// for the object. So each verb that it lists is asked for.
	spec := authorizationv1.SelfSubjectRulesReviewSpec{Namespace: cmp.Or(namespace, metav1.NamespaceDefault)}
	rules, err := client.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the caller's rules: %w", err)
	}
	if rules.Status.Incomplete {
		out.Incomplete = strings.TrimSpace("an authorizer can't list its rules. " + rules.Status.EvaluationError)
	}
	for _, part := range k.Parts() {
		if subresource != "" && part.Subresource != subresource {
			continue
		}
		target := Target{k.Resource.Group, k.Resource.Version, k.Resource.Resource, part.Subresource, namespace, name, false}
		l := lister{reviews: reviews, target: target, parameters: parameters(rules.Status.ResourceRules, target)}
		if err := l.askGeneral(ctx); err != nil {
			return nil, err
		}
		for place := range part.Tree.NodePaths() {
			if n := place.Node(); len(n.Own()) == 0 || !part.Has(k, place) {
				continue
			}
			item, err := l.askField(ctx, place)
			if err != nil {
				return nil, err
			}
			item.Resource = resourceName(k, part.Subresource)
			out.Items = append(out.Items, *item)
		}
	}
	return out, nil
}

func resourceName(k *kinds.Kind, sub string) string {
	if sub == "" {
		return k.String()
	}
	return k.String() + "/" + sub
}

// lister lists the fields of one resource or subresource.
type lister struct {
	reviews    *Reviews
	target     Target
	parameters []permission.Verb
	// ordinary is the answer for verb, which is update or patch. general is the answer for the
	// verb granular, which is asked for only if ordinary does not allow.
	ordinary, general Answer
	verb              string
}

func (l *lister) askGeneral(ctx context.Context) (err error) {
	denied := true
	for _, l.verb = range []string{"update", "patch"} {
		if l.ordinary, err = l.reviews.Ask(ctx, l.verb, l.target); err != nil || l.ordinary.Allowed {
			return err
		}
		denied = denied && l.ordinary.Denied
	}
	if denied {
		return nil // an authorizer denies each way to change the object, so no permission of a field counts
	}
	l.general, err = l.reviews.Ask(ctx, permission.General, l.target)
	return err
}

func (l *lister) askField(ctx context.Context, place schema.NodePath) (*Item, error) {
	candidates, excluded := decide.Candidates(place.Node())
	out := &Item{Field: strings.TrimPrefix(place.Pattern(), "."), Verb: kinds.NarrowestVerb(candidates), Allowed: No}
	switch {
	case l.ordinary.Allowed && !excluded:
		out.Allowed, out.By, out.Reason = Yes, l.verb, l.ordinary.Reason
		return out, nil
	case !l.ordinary.Allowed && !l.general.Allowed:
		return out, nil
	}
	for _, p := range candidates {
		if p.Parameter != nil {
			continue
		}
		verb := permission.Verb{Permission: p.Name}.String()
		answer, err := l.reviews.Ask(ctx, verb, l.target)
		if err != nil {
			return nil, err
		}
		if answer.Allowed {
			out.Allowed, out.By, out.Reason = Yes, verb, answer.Reason
			return out, nil
		}
	}
	var some []string
	for _, p := range candidates {
		for _, v := range l.parameters {
			if p.Parameter != nil && v.Permission == p.Name && v.Parameterized && !slices.Contains(some, v.String()) {
				some = append(some, v.String())
			}
		}
	}
	var held []string
	for _, verb := range some {
		answer, err := l.reviews.Ask(ctx, verb, l.target)
		if err != nil {
			return nil, err
		}
		if !answer.Allowed {
			continue
		}
		if held = append(held, verb); len(held) == 1 {
			out.Allowed, out.Reason = Some, answer.Reason
		}
	}
	out.By = strings.Join(held, " ")
	return out, nil
}

// parameters returns the verbs with parameters that rules grant on a target.
func parameters(rules []authorizationv1.ResourceRule, target Target) []permission.Verb {
	var out []permission.Verb
	for _, r := range rules {
		rule := rbacv1.PolicyRule{APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames, Verbs: r.Verbs}
		for _, text := range VerbsOn(rule, target) {
			if v, err := permission.Parse(text); err == nil && v.Parameterized {
				out = append(out, v)
			}
		}
	}
	return out
}
