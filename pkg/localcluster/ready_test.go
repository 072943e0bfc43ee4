// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

func TestWaitReady(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || asked.Add(1) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	if err := waitReady(t.Context(), "server", &rest.Config{Host: server.URL}, func(error) {}); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 3 {
		t.Errorf("asked %d times, want 3: until it was ready and not after", asked.Load())
	}
}

func TestWaitReadySaysWhy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 {
			cancel() // the first request has been answered already
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	err := waitReady(ctx, "server", &rest.Config{Host: server.URL}, func(error) {})
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got error %v, want one with the last answer", err)
	}
}
