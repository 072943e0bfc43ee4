// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"kube-granular.dev/api/selection"
)

const (
	// maxLenders and maxLenderLength bound the names in the annotation of an account.
	maxLenders, maxLenderLength = 16, 256
	// maxLendersLength bounds the annotation. JSON writes a byte in at most 6.
	maxLendersLength = maxLenders*(6*maxLenderLength+3) + 64
)

// lenders are the users who lent to an account before the delegation under which it acts. Each got a token of the account, which
// a renewal does not end.
type lenders struct {
	Names []string `json:"names"`
	// More is true if there can be others: their names have no room, or could not be read.
	More bool `json:"more,omitempty"`
}

// lendersOf returns the earlier lenders that an account names. Make writes the annotation, too, so an account without one is
// from another version of the program, or somebody removed it.
func lendersOf(account *corev1.ServiceAccount) lenders {
	text := account.Annotations[selection.LendersAnnotation]
	if len(text) > maxLendersLength {
		return lenders{More: true}
	}
	var out lenders
	strict, err := kjson.UnmarshalStrict([]byte(text), &out)
	bad := func(name string) bool { return name == "" || len(name) > maxLenderLength }
	if errors.Join(append(strict, err)...) != nil || out.Names == nil || len(out.Names) > maxLenders || slices.ContainsFunc(out.Names, bad) {
		return lenders{More: true}
	}
	return out
}

// with adds a lender.
func (l lenders) with(name string) lenders {
	switch {
	case slices.Contains(l.Names, name):
	case name == "" || len(name) > maxLenderLength || len(l.Names) >= maxLenders:
		l.More = true
	default:
		l.Names = append(slices.Clone(l.Names), name)
	}
	return l
}

// text returns the annotation.
func (l lenders) text() (string, error) {
	if l.Names == nil {
		l.Names = []string{}
	}
	text, err := json.Marshal(l)
	return string(text), err
}

// lenders returns the users who lent to the account before. Each of them has a token.
func (r *Renewal) lenders() []Other {
	out := []Other{{"User " + r.old.Status.Delegator.Username, "the loan before", "AuthorityDelegation " + r.old.Name}}
	const by = "an earlier loan"
	earlier, account := lendersOf(r.account), "ServiceAccount "+r.Terms.Account.String()
	for _, name := range earlier.Names {
		out = append(out, Other{"User " + name, by, account})
	}
	if earlier.More {
		out = append(out, Other{"an earlier lender", by, account})
	}
	return out
}
