// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// TestServedBy checks which groups another server answers for. An answer that can't be had is an error.
func TestServedBy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch name, _ := strings.CutPrefix(r.URL.Path, "/apis/apiregistration.k8s.io/v1/apiservices/"); name {
		case "v1.apps":
			_, _ = w.Write([]byte(`{"kind":"APIService","spec":{"service":null}}`))
		case "v1.other.example":
			_, _ = w.Write([]byte(`{"kind":"APIService","spec":{"service":{"namespace":"shop","name":"api"}}}`))
		case "v1.secret.example":
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","code":403,"reason":"Forbidden"}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","code":404,"reason":"NotFound"}`))
		}
	}))
	defer server.Close()
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]string{"": "", "apps": "", "new.example": "", "other.example": "shop/api", "secret.example": "error"} {
		got, err := NewStock(client, nil).ServedBy(kubeschema.GroupVersion{Group: group, Version: "v1"})
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q (%v), wanted %q", group, got, err, want)
		}
	}
}
