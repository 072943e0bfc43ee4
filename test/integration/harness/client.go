// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"kube-granular.dev/test/integration/cluster"
)

// Client sends requests to a server with its own credentials.
type Client struct {
	URL  string
	HTTP *http.Client
}

// Connect returns a client with the credentials of a user of the cluster, such as admin.
func Connect(t testing.TB, c *cluster.Cluster, credentials string) *Client {
	t.Helper()
	client, err := connect(c, credentials)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func connect(c *cluster.Cluster, credentials string) (*Client, error) {
	config, err := c.Config(credentials)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{URL: c.URL, HTTP: client}, nil
}

// Call is one request.
type Call struct {
	// As is the user that the client impersonates. If As has no user name, the client impersonates
	// nobody.
	As                        rest.ImpersonationConfig
	Method, Path, ContentType string
	// Accept is application/json if it is empty.
	Accept string
	// Header holds more header fields.
	Header http.Header
	// Body is sent as JSON if it is neither a string nor bytes.
	Body any
}

// Do sends a request and returns the response, whatever its status.
func (c *Client) Do(ctx context.Context, call Call) (Answer, error) {
	var data []byte
	switch b := call.Body.(type) {
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
	req, err := http.NewRequestWithContext(ctx, call.Method, c.URL+call.Path, bytes.NewReader(data))
	if err != nil {
		return Answer{}, err
	}
	for name, values := range call.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if call.ContentType != "" {
		req.Header.Set("Content-Type", call.ContentType)
	}
	if call.Accept == "" {
		call.Accept = "application/json"
	}
	req.Header.Set("Accept", call.Accept)
	client := *c.HTTP
	if call.As.UserName != "" {
		client.Transport = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{
			UserName: call.As.UserName, UID: call.As.UID, Groups: call.As.Groups, Extra: call.As.Extra,
		}, client.Transport)
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Answer{Code: resp.StatusCode, Body: body, Header: resp.Header}, err
}
