// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// stampedWrites are objects of several kinds, by a name for the kind.
var stampedWrites = map[string]string{
	"deployment":      `{apiVersion: apps/v1, kind: Deployment, metadata: {name: stamped}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: one}]}}}}`,
	"pod":             `{apiVersion: v1, kind: Pod, metadata: {name: stamped}, spec: {automountServiceAccountToken: false, containers: [{name: a, image: one}]}}`,
	"secret":          `{apiVersion: v1, kind: Secret, metadata: {name: stamped}, data: {a: YQ==}}`,
	"node":            `{apiVersion: v1, kind: Node, metadata: {name: stamped}}`,
	"service":         `{apiVersion: v1, kind: Service, metadata: {name: stamped}, spec: {ports: [{port: 80}]}}`,
	"custom resource": `{apiVersion: corpus.example.com/v1, kind: Gadget, metadata: {name: stamped}, spec: {size: 1}}`,
}

// TestMutatingWebhook checks that a caller needs no permission for what a mutating webhook
// adds. The webhook writes a label and an annotation on every object. A caller with the
// permission for one label can still write that label, in every way, and nothing else.
func TestMutatingWebhook(t *testing.T) {
	s := onStage(t)
	harness.PrepareCorpus(t, s)
	stamps := harness.NewMutatingWebhook(t, s, "webhooked-")
	var n atomic.Int64
	everything := func(user string) {
		stamps.SetPatchFunc(user, func(map[string]any) corpus.Object {
			return corpus.Object{"metadata": map[string]any{
				"labels":      map[string]any{"stamped.example.com/by": "webhook"},
				"annotations": map[string]any{"stamped.example.com/at": fmt.Sprint(n.Add(1))},
			}}
		})
	}
	holdsUnderMutation(t, s, "webhooked-", everything, func(t *testing.T, object map[string]any) {
		meta := harness.Metadata(t, object)
		labels, _ := meta["labels"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		if labels["stamped.example.com/by"] != "webhook" || annotations["stamped.example.com/at"] == nil {
			t.Errorf("the webhook's stamps are not there: %v", meta)
		}
	})
}

// holdsUnderMutation writes labels while a webhook or policy changes the objects that the users
// write. stamped checks the stored object for that change.
func holdsUnderMutation(t *testing.T, s *harness.Server, prefix string, prepare func(user string), stamped func(t *testing.T, object map[string]any)) {
	t.Helper()
	for kind, manifest := range stampedWrites {
		t.Run(kind, func(t *testing.T) {
			path, live := s.CreateObject(t, manifest)
			operator, other := harness.UniqueName(prefix, "operator-", kind), harness.UniqueName(prefix, "other-", kind)
			prepare(operator)
			prepare(other)
			s.Callers.AddCaller(operator, "granular", "granular:label(super.safe.com)", "get")
			s.Callers.AddCaller(other, "granular", "granular:label(other.example.com)", "get")
			identity := fmt.Sprintf(`"apiVersion":%q,"kind":%q,"metadata":{"name":%q`, live["apiVersion"], live["kind"], harness.Metadata(t, live)["name"])
			for i, tc := range []struct{ way, body string }{
				{"merge", `{"metadata":{"labels":{"super.safe.com/level":"VALUE"}}}`},
				{"strategic", `{"metadata":{"labels":{"super.safe.com/level":"VALUE"}}}`},
				{"apply", `{` + identity + `,"labels":{"super.safe.com/level":"VALUE"}}}`},
				{"json", ""},
			} {
				if tc.way == "strategic" && kind == "custom resource" {
					continue // custom resources have no strategic patches
				}
				value := fmt.Sprintf("v%d", i)
				query, method, body := "", http.MethodPatch, any(strings.ReplaceAll(tc.body, "VALUE", value))
				switch tc.way {
				case "apply":
					query = "?force=true&fieldManager=m"
				case "json":
					now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
					method, body = http.MethodPut, corpus.Overlay(now, corpus.Object{"metadata": map[string]any{"labels": map[string]any{"super.safe.com/level": value}}})
				}
				if a := s.Send(t, other, method, path+query, harness.ContentTypes[tc.way], body); a.Code != http.StatusForbidden ||
					!strings.Contains(a.Message(), "cannot change .metadata.labels[super.safe.com/level]") {
					t.Errorf("%s: the twin got %s", tc.way, a)
				}
				a := s.Send(t, operator, method, path+query, harness.ContentTypes[tc.way], body)
				if a.Code != http.StatusOK {
					t.Errorf("%s: got %s", tc.way, a)
					continue
				}
				now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
				if harness.Metadata(t, now)["labels"].(map[string]any)["super.safe.com/level"] != value {
					t.Errorf("%s: the label is not there: %v", tc.way, now)
				}
				stamped(t, now)
			}
			if a := s.Send(t, operator, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"annotations":{"stamped.example.com/at":"mine"}}}`); a.Code != http.StatusForbidden {
				t.Errorf("what the webhook writes the caller may not: %s", a)
			}
		})
	}
}

// TestMutatingPolicy checks the same as TestMutatingWebhook for a MutatingAdmissionPolicy.
func TestMutatingPolicy(t *testing.T) {
	s := onStage(t)
	harness.PrepareCorpus(t, s)
	const group = "/apis/admissionregistration.k8s.io/v1/"
	const policy = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{"name":"stamps"},"spec":{
	  "reinvocationPolicy":"Never",
	  "matchConstraints":{"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":["*"]}]},
	  "matchConditions":[{"name":"users","expression":"request.userInfo.username.startsWith('policed-')"}],
	  "mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {\"stamped.example.com/by\": \"policy\"}}}"}}]}}`
	s.MustSend(t, http.MethodPost, group+"mutatingadmissionpolicies", harness.ContentTypes["json"], policy)
	s.MustSend(t, http.MethodPost, group+"mutatingadmissionpolicybindings", harness.ContentTypes["json"],
		`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"stamps"},"spec":{"policyName":"stamps"}}`)
	t.Cleanup(func() {
		s.MustSend(t, http.MethodDelete, group+"mutatingadmissionpolicybindings/stamps", "", nil)
		s.MustSend(t, http.MethodDelete, group+"mutatingadmissionpolicies/stamps", "", nil)
	})
	s.Callers.AddCaller("policed-probe", "create")
	harness.Until(t, "the policy stamps", func() bool {
		// The policy refuses a kind as long as it does not know the schema of the kind.
		for _, probe := range []string{
			"/api/v1/namespaces/default/configmaps {apiVersion: v1, kind: ConfigMap, metadata: {name: probe}}",
			"/apis/corpus.example.com/v1/namespaces/default/gadgets {apiVersion: corpus.example.com/v1, kind: Gadget, metadata: {name: probe}}",
		} {
			path, body, _ := strings.Cut(probe, " ")
			a := s.Send(t, "policed-probe", http.MethodPost, path+"?dryRun=All", harness.ContentTypes["yaml"], body)
			if !strings.Contains(string(a.Body), `"stamped.example.com/by":"policy"`) {
				return false
			}
		}
		return true
	})
	holdsUnderMutation(t, s, "policed-", func(string) {}, func(t *testing.T, object map[string]any) {
		if labels := harness.Metadata(t, object)["labels"].(map[string]any); labels["stamped.example.com/by"] != "policy" {
			t.Errorf("the policy's stamp is not there: %v", labels)
		}
	})
}

// TestDefaultsAreNotCharged checks a PUT that leaves out what the server adds: defaults,
// allocated addresses, values that an update strategy keeps, and the status. The server
// restores them, so the caller needs no permission for them.
func TestDefaultsAreNotCharged(t *testing.T) {
	s := onStage(t)
	harness.PrepareCorpus(t, s)
	for kind, manifest := range stampedWrites {
		if kind == "pod" || kind == "node" {
			continue // admission adds tolerations or taints to a new object, and a PUT must repeat them
		}
		t.Run(kind, func(t *testing.T) {
			path, live := s.CreateObject(t, manifest)
			// The object as its author first wrote it, with one more label.
			minimal := harness.FromYAML(t, manifest)
			harness.Metadata(t, minimal)["name"] = harness.Metadata(t, live)["name"]
			harness.Metadata(t, minimal)["labels"] = map[string]any{"super.safe.com/level": "1"}
			if kind == "custom resource" {
				harness.Metadata(t, minimal)["resourceVersion"] = harness.Metadata(t, live)["resourceVersion"]
			}
			s.Twins(t, path, "cannot change .metadata.labels[super.safe.com/level]", []string{"granular:label(super.safe.com)", "granular"}, func(user string) harness.Answer {
				return s.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"], minimal)
			})
		})
	}
}
