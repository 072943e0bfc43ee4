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

// MutatingWebhook is a mutating admission webhook that changes or refuses what some users write.
type MutatingWebhook struct {
	mu      sync.Mutex
	known   map[string]func(map[string]any) corpus.Object
	refused map[string]*metav1.Status
}

// NewMutatingWebhook installs a webhook for users whose names begin with prefix, and returns once
// the server calls the webhook. The webhook changes the writes of a user only after a call of
// SetPatch or SetPatchFunc for that user, and refuses them only after a call of Refuse.
func NewMutatingWebhook(t *testing.T, s *Server, prefix string) *MutatingWebhook {
	t.Helper()
	st := &MutatingWebhook{known: map[string]func(map[string]any) corpus.Object{}, refused: map[string]*metav1.Status{}}
	server := ServeWebhook(t, st)
	name := prefix + "stamps.example.com"
	const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	everything := map[string]any{"apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}, "operations": []string{"CREATE", "UPDATE"}}
	s.MustSend(t, http.MethodPost, configurations, "application/json", map[string]any{
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
	t.Cleanup(func() { s.MustSend(t, http.MethodDelete, configurations+"/"+name, "", nil) })

	probe := prefix + "probe"
	s.Callers.AddCaller(probe, "create")
	st.SetPatch(probe, corpus.Object{"metadata": map[string]any{"labels": map[string]any{"stamped": "yes"}}})
	Until(t, "the webhook is called", func() bool {
		a := s.Send(t, probe, http.MethodPost, "/api/v1/namespaces/default/configmaps?dryRun=All", "application/json",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"}}`)
		return strings.Contains(string(a.Body), `"stamped":"yes"`)
	})
	return st
}

// SetPatch makes the webhook merge the fields of over into each object that the user writes.
func (st *MutatingWebhook) SetPatch(user string, over corpus.Object) {
	st.SetPatchFunc(user, func(map[string]any) corpus.Object { return over })
}

// SetPatchFunc makes the webhook call the function over with each object that the user writes, and
// merge the fields of the result into the object.
func (st *MutatingWebhook) SetPatchFunc(user string, over func(object map[string]any) corpus.Object) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.known[user] = over
}

// Refuse makes the webhook refuse all writes of a user with this result.
func (st *MutatingWebhook) Refuse(user string, result *metav1.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.refused[user] = result
}

func (st *MutatingWebhook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	Review(w, req, func(review *admissionv1.AdmissionReview) error {
		user := review.Request.UserInfo.Username
		st.mu.Lock()
		over, refused := st.known[user], st.refused[user]
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
