// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestOwners(t *testing.T) {
	const (
		none    = `{metadata: {name: a}}`
		plain   = `{metadata: {ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: "1"}]}}`
		blocks  = `{metadata: {ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: "1", blockOwnerDeletion: true}]}}`
		another = `{metadata: {ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: "1", blockOwnerDeletion: true},
			{apiVersion: v1, kind: Pod, name: p, uid: "2", blockOwnerDeletion: true}]}}`
	)
	for name, test := range map[string]struct {
		old, new string
		changed  bool
		blocked  []string
	}{
		"none":                     {none, none, false, nil},
		"a new object without":     {`null`, none, false, nil},
		"a new object with one":    {`null`, blocks, true, []string{`Deployment.apps "web"`}},
		"an owner that may go":     {none, plain, true, nil},
		"the owner has to wait":    {plain, blocks, true, []string{`Deployment.apps "web"`}},
		"it waited before":         {blocks, blocks, false, nil},
		"only the second is new":   {blocks, another, true, []string{`Pod "p"`}},
		"an owner less":            {another, blocks, true, nil},
		"owners that are no list":  {none, `{metadata: {ownerReferences: web}}`, false, nil},
		"owners that are no owner": {none, `{metadata: {ownerReferences: [web]}}`, false, nil},
	} {
		var r DryRun
		for text, object := range map[string]*map[string]any{test.old: &r.old, test.new: &r.new} {
			if err := yaml.Unmarshal([]byte(text), object); err != nil {
				t.Fatal(err)
			}
		}
		if test.old == test.new {
			r.old = r.new
		}
		if changed, blocked := r.Owners(); changed != test.changed || !slices.Equal(blocked, test.blocked) {
			t.Errorf("%s: %v, %q; want %v, %q", name, changed, blocked, test.changed, test.blocked)
		}
	}
}
