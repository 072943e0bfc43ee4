// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	excludes = `
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  names: {plural: boxes}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              lid: {type: string, x-kubernetes-permission-verb: example.com/lid, x-kubernetes-permission-excluded: true}
              key: {type: string, x-kubernetes-permission-verb: example.com/key, x-kubernetes-permission-excluded: true}
              size: {type: string, x-kubernetes-permission-verb: example.com/size}
`
	atomic = `
kind: CustomResourceDefinition
metadata: {name: pumps.example.com}
spec:
  group: example.com
  names: {plural: pumps}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status:
            type: object
            properties:
              conditions: {type: array, items: {type: object, properties: {type: {type: string}}}}
`
)

var keyed = strings.Replace(atomic, "type: array,", "type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type],", 1)

func TestTogether(t *testing.T) {
	const (
		opened   = "example.com/key, example.com/lid of boxes.example.com"
		wildcard = "the verb * includes excluded permissions, which update does not: " + opened + "; name the verbs"
		gathered = "the verb * in the rules of ClusterRole box, which are gathered, includes excluded permissions, which update does not: " + opened
		nothing  = "granular:condition(Ready) covers nothing of pumps.example.com: the list .status.conditions of its definition is no map by type; grant granular:conditions, or change the definition"
	)
	role := func(rule string) string { return "kind: ClusterRole\nmetadata: {name: one}\nrules:\n- " + rule }
	box := "kind: ClusterRole\nmetadata: {name: box, labels: {to: edit}}\nrules:\n- {apiGroups: [example.com], resources: [boxes], verbs: ['*']}\n---\n"
	edit := "kind: ClusterRole\nmetadata: {name: edit, labels: {to: edit}}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {to: edit}}]}\n"
	for name, test := range map[string]struct {
		definition, roles string
		want              []string
	}{
		"all verbs":                  {excludes, role("{apiGroups: [example.com], resources: [boxes], verbs: ['*']}"), []string{"4 ClusterRole one: " + wildcard}},
		"all verbs beside others":    {excludes, role("{apiGroups: [example.com], resources: [boxes], verbs: [get, '*']}"), []string{"4 ClusterRole one: " + wildcard}},
		"all verbs of a part":        {excludes, role("{apiGroups: [example.com], resources: [boxes/status], verbs: ['*']}"), []string{"4 ClusterRole one: " + wildcard}},
		"all verbs of one":           {excludes, role("{apiGroups: [example.com], resources: [boxes], resourceNames: [a], verbs: ['*']}"), []string{"4 ClusterRole one: " + wildcard}},
		"everything":                 {excludes, role("{apiGroups: ['*'], resources: ['*'], verbs: ['*']}"), []string{"4 ClusterRole one: " + wildcard}},
		"each part of everything":    {excludes, role("{apiGroups: ['*'], resources: ['*/status'], verbs: ['*']}"), []string{"4 ClusterRole one: " + wildcard}},
		"named verbs":                {excludes, role("{apiGroups: [example.com], resources: [boxes], verbs: [create, update, patch, delete]}"), nil},
		"another resource":           {excludes, role("{apiGroups: [example.com], resources: [bags], verbs: ['*']}"), nil},
		"another group":              {excludes, role("{apiGroups: [other.example], resources: [boxes], verbs: ['*']}"), nil},
		"nothing excluded":           {strings.ReplaceAll(excludes, ", x-kubernetes-permission-excluded: true", ""), role("{apiGroups: [example.com], resources: [boxes], verbs: ['*']}"), nil},
		"a delegation":               {excludes, "kind: AuthorityDelegation\nmetadata: {name: d}\nspec:\n  rules:\n  - {apiGroups: [example.com], resources: [boxes], verbs: ['*']}", []string{"5 AuthorityDelegation d: " + wildcard}},
		"gathered, as it is written": {excludes, box + edit, []string{"4 ClusterRole box: " + wildcard, "8 ClusterRole edit: " + gathered}},
		"gathered, as it is stored": {excludes, box + edit + "rules:\n- {apiGroups: [example.com], resources: [boxes], verbs: ['*']}\n",
			[]string{"4 ClusterRole box: " + wildcard, "8 ClusterRole edit: " + gathered}},
		"gathered from a role that is not there": {excludes, edit + "rules:\n- {apiGroups: [example.com], resources: [boxes], verbs: ['*']}\n",
			[]string{"5 ClusterRole edit: " + wildcard}},
		"not gathered": {excludes, strings.Replace(box, "to: edit", "to: view", 1) + edit, []string{"4 ClusterRole box: " + wildcard}},
		"conditions without keys": {atomic, role("{apiGroups: [example.com], resources: [pumps/status], verbs: [get, granular, granular:condition(Ready)]}"),
			[]string{"4 ClusterRole one: " + nothing}},
		"conditions with keys":      {keyed, role("{apiGroups: [example.com], resources: [pumps/status], verbs: [get, granular, granular:condition(Ready)]}"), nil},
		"all conditions":            {atomic, role("{apiGroups: [example.com], resources: [pumps/status], verbs: [get, granular, granular:conditions]}"), nil},
		"conditions of all":         {atomic, role("{apiGroups: ['*'], resources: ['*'], verbs: [get, granular, granular:condition(Ready)]}"), nil},
		"conditions of other kinds": {atomic, role("{apiGroups: [apps], resources: [deployments/status], verbs: [get, granular, granular:condition(Ready)]}"), nil},
	} {
		found, err := Together([]Source{{"definition", []byte(test.definition)}, {"roles", []byte(test.roles)}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprint(f.Line, " ", f.Object, ": ", f.Message))
			if f.File != "roles" || f.Level != Warning {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if _, err := Together([]Source{{"broken", []byte("a: [")}}); err == nil || !strings.HasPrefix(err.Error(), "broken: ") {
		t.Errorf("a file that is no YAML: %v", err)
	}
}
