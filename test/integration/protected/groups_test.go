// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rules "kube-granular.dev/granular/protect"
)

// TestResourcesOfTwoGroups checks that the library knows all resources whose objects are served in
// two groups. The server publishes a hash of the group, version and kind that it stores: if two
// resources have the same hash, their objects are the same.
func TestResourcesOfTwoGroups(t *testing.T) {
	var groups metav1.APIGroupList
	decode(t, must(t, "GET", "/apis", "", ""), &groups)
	versions := []string{"/api/v1"}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			versions = append(versions, "/apis/"+v.GroupVersion)
		}
	}
	stored := map[string]rules.Resource{}
	for _, path := range versions {
		var list metav1.APIResourceList
		decode(t, must(t, "GET", path, "", ""), &list)
		group, _, ok := strings.Cut(list.GroupVersion, "/")
		if !ok {
			group = ""
		}
		for _, r := range list.APIResources {
			if r.StorageVersionHash == "" || strings.Contains(r.Name, "/") {
				continue
			}
			one := rules.Resource{Group: group, Resource: r.Name}.Canonical()
			if other, known := stored[r.StorageVersionHash]; known && other != one {
				t.Errorf("%v and %v store the same objects", other, one)
			}
			stored[r.StorageVersionHash] = one
		}
	}
	if len(stored) < 50 {
		t.Errorf("only %d resources are stored", len(stored))
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// TestEvents checks that an attribute for the events of one group protects the events of both.
//
// Attack: an Event with a label that is protected in the other group of events
// Answer: 403, the objects of both groups are the same
func TestEvents(t *testing.T) {
	withPeople(t)
	const ns = "events"
	namespace(t, ns)
	grant(t, "events-writer", `[{"apiGroups":["","events.k8s.io"],"resources":["events"],"verbs":["create"]}]`, "reporter")
	allowed(t, "reporter", "create", "events.k8s.io", "events")
	const labels = `"labels":{"env":"prod"}`
	bodies := map[string]string{
		where("NS/events", ns): `{"apiVersion":"v1","kind":"Event","metadata":{"name":"a","namespace":"events",` + labels + `},"involvedObject":{"namespace":"events","kind":"Pod","name":"x"}}`,
		where("events.k8s.io/events", ns): `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"a","namespace":"events",` + labels + `},"regarding":{"namespace":"events","kind":"Pod","name":"x"},` +
			`"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"a.b/c","reportingInstance":"i","action":"a","reason":"r","type":"Normal"}`,
	}
	for _, group := range []string{"", "events.k8s.io"} {
		filter := `esources":[{"group":"` + group + `","resource":"events"}],`
		for name, tc := range map[string]struct {
			spec     string
			protects bool
		}{
			"only": {`{"r` + filter, true}, "all-but": {`{"excludeR` + filter, false},
		} {
			t.Run(name+" "+group, func(t *testing.T) {
				protect(t, "events-"+name+"-"+strings.ReplaceAll(group, ".", "-")+"x", tc.spec+envLabel[1:])
				for path, body := range bodies {
					if got := send(t, "reporter", "POST", path+"?dryRun=All", "", body); tc.protects {
						refused(t, got, "labels[env]")
					} else {
						granted(t, got)
					}
				}
			})
		}
	}
}
