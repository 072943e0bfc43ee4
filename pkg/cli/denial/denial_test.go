// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDenial(t *testing.T) {
	for text, want := range map[string]*Denial{
		`Error from server (Forbidden): deployments.apps "web" is forbidden: User "system:serviceaccount:default:supersafe" cannot change .spec.replicas in namespace "default": needs one of the verbs "granular:replicas", "granular:specification"`: {
			Resource: "deployments.apps", Name: "web", User: "system:serviceaccount:default:supersafe", Namespace: "default", Field: ".spec.replicas",
			Verbs: []string{"granular:replicas", "granular:specification"},
		},
		`nodes "n" is forbidden: User "jane" cannot change .metadata.labels[a.example/x]: needs one of the verbs "granular:label(a.example)", "granular:metadata"`: {
			Resource: "nodes", Name: "n", User: "jane", Field: ".metadata.labels[a.example/x]",
			Verbs: []string{"granular:label(a.example)", "granular:metadata"},
		},
		`robots.factory.example.com "robby" is forbidden: User "erin" cannot change .spec.trigger in namespace "default": needs the verb "granular:factory.example.com/selfDestruct"`: {
			Resource: "robots.factory.example.com", Name: "robby", User: "erin", Namespace: "default", Field: ".spec.trigger",
			Verbs: []string{"granular:factory.example.com/selfDestruct"},
		},
		`configmaps "c" is forbidden: User "erin" cannot change .foo in namespace "default": no permission covers this field`: {
			Resource: "configmaps", Name: "c", User: "erin", Namespace: "default", Field: ".foo", Why: "no permission covers this field",
		},
		`deployments.apps "web" is forbidden: User "erin" cannot change .metadata.labels[k] in namespace "default": more than 64 permissions would have to be checked for this request; hold the verb "granular:labels" instead`: {
			Resource: "deployments.apps", Name: "web", User: "erin", Namespace: "default", Field: ".metadata.labels[k]", Verbs: []string{"granular:labels"},
			Why: `more than 64 permissions would have to be checked for this request; hold the verb "granular:labels" instead`,
		},
		"Error from server (Forbidden): deployments.apps \"web\" is forbidden: User \"jane\" cannot patch resource \"deployments/scale\" in API group \"apps\" in the namespace \"shop\"\n": {
			Resource: "deployments.apps", Subresource: "scale", Name: "web", User: "jane", Namespace: "shop", Ordinary: "patch",
		},
		`namespaces is forbidden: User "jane" cannot create resource "namespaces" in API group "" at the cluster scope`: {
			Resource: "namespaces", User: "jane", Ordinary: "create",
		},
		`pods "a" is forbidden: User "jane" cannot delete resource "pods" in API group "" in the namespace "x"`: nil,
		"Error from server (NotFound)": nil,
		"":                             nil,
	} {
		got, err := Parse(text)
		if diff := cmp.Diff(want, got); diff != "" || (want == nil) != errors.Is(err, ErrNotADenial) {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func TestDenialFromAudit(t *testing.T) {
	log := `{"auditID":"one","stage":"RequestReceived"}
not json
{"auditID":"one-more","stage":"ResponseComplete","verb":"patch","user":{"username":"eve"},"objectRef":{"resource":"pods","name":"p"},"responseStatus":{"code":403}}
{"auditID":"one","stage":"ResponseComplete","verb":"patch","user":{"username":"admin"},"impersonatedUser":{"username":"jane"},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","subresource":"scale"},"responseStatus":{"code":403},"annotations":{"granular.authorization.kube-granular.dev/missing":"granular:replicas granular:specification"}}
{"auditID":"two","stage":"ResponseComplete","verb":"patch","user":{"username":"jane"},"objectRef":{"resource":"pods","namespace":"shop","name":"web"},"responseStatus":{"code":200}}`
	got, err := FromAudit(strings.NewReader(log), "one")
	want := &Denial{Resource: "deployments.apps", Subresource: "scale", Name: "web", Namespace: "shop",
		User: "jane", Verbs: []string{"granular:replicas", "granular:specification"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for id, message := range map[string]string{"two": "two was not refused: its status code is 200", "three": "no completed request with the audit ID three"} {
		if _, err := FromAudit(strings.NewReader(log), id); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func FuzzParseDenial(f *testing.F) {
	f.Add(`pods "a" is forbidden: User "b" cannot change .spec in namespace "c": needs the verb "granular:specification"`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if (d == nil) == (err == nil) {
			t.Errorf("%q: %v and %v", text, d, err)
		}
	})
}
