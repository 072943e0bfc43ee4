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

// stampedWrites are writes of one label, or of nothing, on kinds of all sorts.
var stampedWrites = map[string]string{
	"deployment":      `{apiVersion: apps/v1, kind: Deployment, metadata: {name: stamped}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: one}]}}}}`,
	"pod":             `{apiVersion: v1, kind: Pod, metadata: {name: stamped}, spec: {automountServiceAccountToken: false, containers: [{name: a, image: one}]}}`,
	"secret":          `{apiVersion: v1, kind: Secret, metadata: {name: stamped}, data: {a: YQ==}}`,
	"node":            `{apiVersion: v1, kind: Node, metadata: {name: stamped}}`,
	"service":         `{apiVersion: v1, kind: Service, metadata: {name: stamped}, spec: {ports: [{port: 80}]}}`,
	"custom resource": `{apiVersion: corpus.example.com/v1, kind: Gadget, metadata: {name: stamped}, spec: {size: 1}}`,
}

// TestMutatingWebhook holds that what a webhook adds is not charged to the caller:
// with one that writes a label and an annotation on everything an operator of one
// label works, in each way to change it, and can still do nothing else.
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

// holdsUnderMutation sends labels under something that stamps what users write.
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
					continue // there are no strategic patches of custom resources
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

// TestMutatingPolicy is TestMutatingWebhook for a MutatingAdmissionPolicy.
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
		// A kind whose schema is not known to the policy yet is refused.
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

// TestDefaultsAreNotCharged holds that a client which sends less than the server
// stores changes nothing by it: defaults, allocated addresses, what strategies keep
// and the rest of the status come back by themselves.
func TestDefaultsAreNotCharged(t *testing.T) {
	s := onStage(t)
	harness.PrepareCorpus(t, s)
	for kind, manifest := range stampedWrites {
		if kind == "pod" || kind == "node" {
			continue // admission adds tolerations and taints to new ones, which must be sent again
		}
		t.Run(kind, func(t *testing.T) {
			path, live := s.CreateObject(t, manifest)
			// As its author wrote it, and one label more.
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
