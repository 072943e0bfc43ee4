// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// What the authorizer is asked about the delegation d, the role editor, and the pods of the namespace n.
const (
	delegateVerb = "delegate authoritydelegations.authority.kube-granular.dev /d"
	getRole      = "get clusterroles.rbac.authorization.k8s.io /editor"
	getPods      = "get pods n/"
)

// TestHeld checks by what a caller can delegate rules: by holding them, or by the verb "delegate", which counts only while
// the authorizers check the rules at each use. alice holds the rules readPods, and eve holds nothing.
func TestHeld(t *testing.T) {
	alice, eve := user.DefaultInfo{Name: "alice"}, user.DefaultInfo{Name: "eve"}
	keep := func(d *v1alpha1.AuthorityDelegation) { d.Spec.IfLost = v1alpha1.LossKeep }
	byRole := func(d *v1alpha1.AuthorityDelegation) {
		d.Spec.Rules, d.Spec.RoleRef = nil, &v1alpha1.DelegatedRole{Kind: "ClusterRole", Name: "editor"}
	}
	conditional := func(d *v1alpha1.AuthorityDelegation) {
		d.Spec.Conditions, d.Status.Rules = anyCondition, rules(on("pods", "get", "update"))
	}
	notHeld, isForbidden := "attempting to grant RBAC permissions not currently held", apierrors.IsForbidden
	for name, tc := range map[string]struct {
		caller user.Info
		may    []string
		fails  []string
		change func(*v1alpha1.AuthorityDelegation)
		refusal
	}{
		"holds the rules":                  {caller: &alice},
		"holds nothing":                    {caller: &eve, refusal: refusal{isForbidden, notHeld}},
		"may delegate":                     {caller: &eve, may: []string{delegateVerb}},
		"may delegate another":             {caller: &eve, may: []string{delegateVerb + "d"}, refusal: refusal{isForbidden, notHeld}},
		"may delegate, selects a role":     {caller: selects(eve, selection.ClusterRoleKind, "reader"), may: []string{delegateVerb}, refusal: refusal{isForbidden, notHeld}},
		"holds the rules, selects a role":  {caller: selects(alice, selection.ClusterRoleKind, "reader")},
		"kept, may delegate":               {caller: &eve, may: []string{delegateVerb}, change: keep, refusal: refusal{isForbidden, notHeld}},
		"kept, holds the rules":            {caller: &alice, change: keep, refusal: refusal{isForbidden, `ifLost: Keep needs the verb "delegate"`}},
		"kept, both":                       {caller: &alice, may: []string{delegateVerb}, change: keep},
		"no answer":                        {caller: &eve, fails: []string{delegateVerb}, refusal: refusal{apierrors.IsInternalError, "no answer"}},
		"no answer, holds the rules":       {caller: &alice, fails: []string{delegateVerb}},
		"kept, no answer, holds the rules": {caller: &alice, fails: []string{delegateVerb}, change: keep, refusal: refusal{apierrors.IsInternalError, "no answer"}},
		"may delegate, not read the role":  {caller: &eve, may: []string{delegateVerb}, change: byRole, refusal: refusal{isForbidden, `the ClusterRole "editor", or it does not exist`}},
		"may delegate and read the role":   {caller: &eve, may: []string{delegateVerb, getRole}, change: byRole},
		"may read the role":                {caller: &eve, may: []string{getRole}, change: byRole, refusal: refusal{isForbidden, notHeld}},
		"may delegate, not read the pods":  {caller: &eve, may: []string{delegateVerb}, change: conditional, refusal: refusal{isForbidden, notHeld}},
		"may delegate and read the pods":   {caller: &eve, may: []string{delegateVerb, getPods}, change: conditional},
		"may read the pods":                {caller: &eve, may: []string{getPods}, change: conditional, refusal: refusal{isForbidden, notHeld}},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := sceneOfPods(t), wanted()
			s.requests, s.fails, d.Status.Rules = tc.may, tc.fails, d.Spec.Rules
			if tc.change != nil {
				tc.change(d)
			}
			tc.check(t, s.issuer.confirmHeld(s.by(tc.caller), d, nil))
		})
	}
}

// TestHeldForPolicy checks by what the author of an object holds what a policy delegates. Here a lack is no refusal yet:
// the policy can say that it does not matter.
func TestHeldForPolicy(t *testing.T) {
	alice, eve := user.DefaultInfo{Name: "alice"}, user.DefaultInfo{Name: "eve"}
	keep := func(d *v1alpha1.AuthorityDelegation) { d.Spec.IfLost = v1alpha1.LossKeep }
	conditional := func(d *v1alpha1.AuthorityDelegation) {
		d.Spec.Conditions, d.Status.Rules = anyCondition, rules(on("pods", "get", "update"))
	}
	const any = "delegate authoritydelegations.authority.kube-granular.dev /"
	lacks := refusal{isNotHeld, "not currently held"}
	for name, tc := range map[string]struct {
		caller user.Info
		may    []string
		fails  []string
		change func(*v1alpha1.AuthorityDelegation)
		refusal
	}{
		"holds the rules":                 {caller: &alice},
		"holds the rules, no answer":      {caller: &alice, fails: []string{any}},
		"holds nothing":                   {caller: &eve, refusal: lacks},
		"may delegate":                    {caller: &eve, may: []string{any}},
		"no answer":                       {caller: &eve, fails: []string{any}, refusal: refusal{apierrors.IsInternalError, "no answer"}},
		"may delegate, selects a role":    {caller: selects(eve, selection.ClusterRoleKind, "reader"), may: []string{any}, refusal: lacks},
		"kept, may delegate":              {caller: &eve, may: []string{any}, change: keep, refusal: lacks},
		"may delegate, not read the pods": {caller: &eve, may: []string{any}, change: conditional, refusal: lacks},
		"may delegate and read the pods":  {caller: &eve, may: []string{any, getPods}, change: conditional},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := sceneOfPods(t), wanted()
			s.requests, s.fails, d.Name, d.Status.Rules = tc.may, tc.fails, "", d.Spec.Rules
			if tc.change != nil {
				tc.change(d)
			}
			tc.check(t, s.issuer.confirmPolicyHeld(s.by(tc.caller), d, s.issuer.Cached))
		})
	}
}

func isNotHeld(err error) bool { _, ok := err.(notHeld); return ok }
