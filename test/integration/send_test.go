// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
)

// contentTypes are short names for what scripts send.
var contentTypes = map[string]string{
	"json":      "application/json",
	"yaml":      "application/yaml",
	"jsonpatch": "application/json-patch+json",
	"merge":     "application/merge-patch+json",
	"strategic": "application/strategic-merge-patch+json",
	"apply":     "application/apply-patch+yaml",
}

// send makes one request as an impersonated user, which kubectl can't do without
// reading the object first. Standard output is the status code and the body.
//
//	[!] send USER METHOD PATH [json|yaml|jsonpatch|merge|strategic|apply BODY|@FILE]
func send(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 3 && len(args) != 5 {
			ts.Fatalf("usage: send USER METHOD PATH [TYPE BODY|@FILE]")
		}
		var body, contentType string
		if len(args) == 5 {
			body = args[4]
			if file, ok := strings.CutPrefix(body, "@"); ok {
				body = ts.ReadFile(file)
			}
			if contentType = contentTypes[args[3]]; contentType == "" {
				ts.Fatalf("send: %q is not a known content type", args[3])
			}
		}
		status, answer, err := request(c, args[0], args[1], args[2], contentType, body)
		if err != nil {
			ts.Fatalf("send: %v", err)
		}
		fmt.Fprintf(ts.Stdout(), "%d %s\n", status, answer)
		if refused := status >= 400; refused != neg {
			ts.Fatalf("send %s: %d %s", strings.Join(args[:3], " "), status, answer)
		}
	}
}

// request sends one request to the server, as the administrator who impersonates
// user.
func request(c *cluster.Cluster, user, method, path, contentType, body string) (int, string, error) {
	return requestBy(c, "admin", rest.ImpersonationConfig{UserName: user}, method, path, contentType, body)
}

// requestBy sends one request with the credentials of config, who impersonates user.
func requestBy(c *cluster.Cluster, credentials string, user rest.ImpersonationConfig, method, path, contentType, body string) (int, string, error) {
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
