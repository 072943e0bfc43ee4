// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
)

// ContentTypes are short names for what scripts send.
var ContentTypes = map[string]string{
	"json":      "application/json",
	"yaml":      "application/yaml",
	"jsonpatch": "application/json-patch+json",
	"merge":     "application/merge-patch+json",
	"strategic": "application/strategic-merge-patch+json",
	"apply":     "application/apply-patch+yaml",
}

// Request sends one request to the server, as the administrator who impersonates
// user.
func Request(c *cluster.Cluster, user, method, path, contentType, body string) (int, string, error) {
	return RequestBy(c, "admin", rest.ImpersonationConfig{UserName: user}, method, path, contentType, body)
}

// RequestBy sends one request with the credentials of config, who impersonates user.
func RequestBy(c *cluster.Cluster, credentials string, user rest.ImpersonationConfig, method, path, contentType, body string) (int, string, error) {
	config, err := c.Config(credentials)
	if err != nil {
		return 0, "", err
	}
	config.Impersonate = user
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequest(method, c.URL+path, bytes.NewBufferString(body))
	if err != nil {
		return 0, "", err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

// Send makes one request as a user, or as the administrator if user is empty.
// What is not a string or bytes is sent as JSON.
func (s *Stage) Send(t *testing.T, user, method, path, contentType string, body any) Answer {
	t.Helper()
	return s.SendAccept(t, user, method, path, contentType, "application/json", body)
}

func (s *Stage) SendAccept(t *testing.T, user, method, path, contentType, accept string, body any) Answer {
	t.Helper()
	a, err := s.RoundTrip(user, method, path, contentType, accept, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (s *Stage) RoundTrip(user, method, path, contentType, accept string, body any) (Answer, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	case []byte:
		data = b
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			return Answer{}, err
		}
	}
	req, err := http.NewRequest(method, s.URL+path, bytes.NewReader(data))
	if err != nil {
		return Answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", accept)
	if user != "" {
		req.Header.Set("Impersonate-User", user)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, out, resp.Header.Values("Warning")}, err
}

// Must makes one request as the administrator, which has to succeed.
func (s *Stage) Must(t *testing.T, method, path, contentType string, body any) Answer {
	t.Helper()
	a := s.Send(t, "", method, path, contentType, body)
	if a.Code >= 300 {
		t.Fatalf("%s %s: %s", method, path, a)
	}
	return a
}

// Live gives what the server holds, once its watch cache holds it too: the storage
// makes the first attempt of an update on what is there, and an attempt on something
// older asks about changes that nobody has made.
func (s *Stage) Live(t *testing.T, path string) map[string]any {
	t.Helper()
	stored := s.Must(t, http.MethodGet, path, "", nil).Object(t)
	version, _ := Metadata(t, stored)["resourceVersion"].(string)
	return s.Must(t, http.MethodGet, path+"?resourceVersion="+version, "", nil).Object(t)
}
