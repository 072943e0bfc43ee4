// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
)

// ContentTypes maps short names, which scripts use, to content types.
var ContentTypes = map[string]string{
	"json":      "application/json",
	"yaml":      "application/yaml",
	"jsonpatch": "application/json-patch+json",
	"merge":     "application/merge-patch+json",
	"strategic": "application/strategic-merge-patch+json",
	"apply":     "application/apply-patch+yaml",
}

// Request sends one request with the credentials of the administrator. If user is not empty, the
// administrator impersonates that user. It returns the status code and the body of the response.
func Request(c *cluster.Cluster, user, method, path, contentType, body string) (int, string, error) {
	return RequestBy(c, "admin", Impersonating(user), method, path, contentType, body)
}

// RequestBy sends one request like Request, but with the credentials of any user of the cluster.
// credentials is the name of that user, such as editor, and user is whom that user impersonates.
func RequestBy(c *cluster.Cluster, credentials string, user rest.ImpersonationConfig, method, path, contentType, body string) (int, string, error) {
	client, err := connect(c, credentials)
	if err != nil {
		return 0, "", err
	}
	a, err := client.Do(context.Background(), Call{As: user, Method: method, Path: path, ContentType: contentType, Body: body})
	return a.Code, string(a.Body), err
}

// Send makes one request as a user, or as the administrator if user is empty. A body that is
// neither a string nor bytes is sent as JSON.
func (s *Server) Send(t *testing.T, user, method, path, contentType string, body any) Answer {
	t.Helper()
	return s.SendAccept(t, user, method, path, contentType, "application/json", body)
}

// SendAccept is like Send, but asks for the response in the format accept instead of JSON.
func (s *Server) SendAccept(t *testing.T, user, method, path, contentType, accept string, body any) Answer {
	t.Helper()
	a, err := s.RoundTrip(user, method, path, contentType, accept, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// RoundTrip is like SendAccept, but returns an error instead of ending the test.
func (s *Server) RoundTrip(user, method, path, contentType, accept string, body any) (Answer, error) {
	return s.client.Do(context.Background(), Call{
		As: Impersonating(user), Method: method, Path: path, ContentType: contentType, Accept: accept, Body: body,
	})
}

// MustSend makes one request as the administrator, which must succeed.
func (s *Server) MustSend(t *testing.T, method, path, contentType string, body any) Answer {
	t.Helper()
	a := s.Send(t, "", method, path, contentType, body)
	if a.Code >= 300 {
		t.Fatalf("%s %s: %s", method, path, a)
	}
	return a
}

// LiveObject returns the stored object at path, once the server's watch cache has that version
// too. An update starts from the object in the cache. If that object were old, the update would
// also change the fields that differ, and the server would ask for permissions for changes that
// the test did not make.
func (s *Server) LiveObject(t *testing.T, path string) map[string]any {
	t.Helper()
	stored := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
	version, _ := Metadata(t, stored)["resourceVersion"].(string)
	return s.MustSend(t, http.MethodGet, path+"?resourceVersion="+version, "", nil).Object(t)
}

// Update puts the object that change makes from the live object at path, as user, and returns the answer. The server's
// controllers write many objects as well: if one of them was faster, Update starts again with what it wrote.
func (s *Server) Update(t *testing.T, user, path string, change func(map[string]any) map[string]any) Answer {
	t.Helper()
	object, _, _ := strings.Cut(path, "?")
	var answer Answer
	Until(t, "an update of "+path+" without conflict", func() bool {
		answer = s.Send(t, user, http.MethodPut, path, ContentTypes["json"], change(s.LiveObject(t, strings.TrimSuffix(object, "/status"))))
		return answer.Code != http.StatusConflict
	})
	return answer
}
