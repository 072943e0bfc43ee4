// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
)

// HoldBody sends the headers of a PATCH request as a user, and returns when the server begins to
// read the body. So a test can do something while the request is running. The caller must then
// write the body and close it, and receives the response from answered.
func HoldBody(ctx context.Context, t *testing.T, c *cluster.Cluster, user, path, contentType string) (body io.WriteCloser, answered <-chan string) {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tls, ExpectContinueTimeout: time.Minute}
	t.Cleanup(transport.CloseIdleConnections)
	wrapped, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	content, body := io.Pipe()
	reading, ended := make(chan struct{}), make(chan string, 1)
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	request, err := http.NewRequestWithContext(traced, http.MethodPatch, c.URL+path, content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Expect", "100-continue")
	go func() {
		answer, err := wrapped.RoundTrip(request)
		if err != nil {
			ended <- err.Error()
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		ended <- fmt.Sprint(answer.StatusCode, " ", string(text))
	}()
	select {
	case <-reading:
	case got := <-ended:
		t.Fatalf("answered before the body was read: %s", got)
	}
	return body, ended
}
