// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"net/http"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// server is one of the two servers, with an administrator's client.
type server struct {
	*harness.Client
	name string
}

// startOurs runs the patched server.
func startOurs(t *testing.T, etcd string) (*server, *cluster.Cluster) {
	t.Helper()
	c := harness.Start(t, "--etcd-servers", etcd, "--demo=false")
	return &server{harness.Connect(t, c, "admin"), "ours"}, c
}

// startTheirs runs the server without patches, with the certificates of our server.
func startTheirs(t *testing.T, binary, etcd string, ours *cluster.Cluster) *server {
	t.Helper()
	return &server{harness.StartUnpatched(t, binary, etcd, ours), "theirs"}
}

// send makes a request that must return 200 or 201, and returns the body.
func (s *server) send(t *testing.T, method, path, contentType, accept string, body []byte) []byte {
	t.Helper()
	code, answer := s.try(t, method, path, contentType, accept, body)
	if code != http.StatusOK && code != http.StatusCreated {
		t.Fatalf("%s: %s %s: %d %s", s.name, method, path, code, answer)
	}
	return answer
}

func (s *server) try(t *testing.T, method, path, contentType, accept string, body []byte) (int, []byte) {
	t.Helper()
	answer, err := s.Do(t.Context(), harness.Call{Method: method, Path: path, ContentType: contentType, Accept: accept, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, answer.Body
}
