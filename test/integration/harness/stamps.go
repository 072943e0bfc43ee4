// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kube-granular.dev/granular/corpus"
)

// Stamps is a mutating admission webhook that changes or refuses what some users write.
type Stamps struct {
	mu      sync.Mutex
	known   map[string]func(map[string]any) corpus.Object
	refused map[string]*metav1.Status
	calls   map[string]int
}

// NewStamps installs the webhook for users whose names begin with prefix, and
// returns once the server calls it.
func NewStamps(t *testing.T, s *Stage, prefix string) *Stamps {
	t.Helper()
	st := &Stamps{known: map[string]func(map[string]any) corpus.Object{}, refused: map[string]*metav1.Status{}, calls: map[string]int{}}
	server := Serve(t, st)
	name := prefix + "stamps.example.com"
	const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	everything := map[string]any{"apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}, "operations": []string{"CREATE", "UPDATE"}}
	s.Must(t, http.MethodPost, configurations, "application/json", map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "MutatingWebhookConfiguration",
		"metadata":   map[string]any{"name": name},
		"webhooks": []any{map[string]any{
			"name":                    name,
			"clientConfig":            map[string]any{"url": server.URL, "caBundle": CABundle(server)},
			"rules":                   []any{everything},
			"matchConditions":         []any{map[string]any{"name": "users", "expression": fmt.Sprintf("request.userInfo.username.startsWith(%q)", prefix)}},
			"sideEffects":             "None",
			"admissionReviewVersions": []string{"v1"},
		}},
	})
	t.Cleanup(func() { s.Must(t, http.MethodDelete, configurations+"/"+name, "", nil) })

	probe := prefix + "probe"
	s.Callers.Call(probe, "create")
	st.Set(probe, corpus.Object{"metadata": map[string]any{"labels": map[string]any{"stamped": "yes"}}})
	Until(t, "the webhook is called", func() bool {
		a := s.Send(t, probe, http.MethodPost, "/api/v1/namespaces/default/configmaps?dryRun=All", "application/json",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"}}`)
		return strings.Contains(string(a.Body), `"stamped":"yes"`)
	})
	return st
}

// Set lays over what a user writes.
func (st *Stamps) Set(user string, over corpus.Object) {
	st.SetFunc(user, func(map[string]any) corpus.Object { return over })
}

// SetFunc lays what over makes of an object over what a user writes.
func (st *Stamps) SetFunc(user string, over func(object map[string]any) corpus.Object) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.known[user] = over
}

// Refuse refuses whatever a user writes.
func (st *Stamps) Refuse(user string, result *metav1.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.refused[user] = result
}

// Called returns how often the webhook saw a request of a user.
func (st *Stamps) Called(user string) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.calls[user]
}

func (st *Stamps) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	Review(w, req, func(review *admissionv1.AdmissionReview) error {
		user := review.Request.UserInfo.Username
		st.mu.Lock()
		over, refused := st.known[user], st.refused[user]
		st.calls[user]++
		st.mu.Unlock()
		response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: refused == nil, Result: refused}
		if over != nil {
			object := map[string]any{}
			if err := utiljson.Unmarshal(review.Request.Object.Raw, &object); err != nil {
				return err
			}
			patch, err := json.Marshal(JSONPatch(object, corpus.Overlay(object, over(object))))
			if err != nil {
				return err
			}
			kind := admissionv1.PatchTypeJSONPatch
			response.Patch, response.PatchType = patch, &kind
		}
		review.Request, review.Response = nil, response
		return nil
	})
}
