// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Client sends requests to one server as one user.
type Client struct {
	http  http.Client
	url   string
	token string
}

// Client returns a client for a user of the server. All clients of a server share a connection.
func (s *Server) Client(user string) *Client { return NewClient(s.url, user, s.transport) }

// Trusting returns a transport that trusts the CA whose certificate is in a file. It uses HTTP/2,
// like client-go.
func Trusting(file string) (*http.Transport, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}, nil
}

// NewClient returns a client for a user of the server at a URL.
func NewClient(url, user string, transport *http.Transport) *Client {
	return &Client{http: http.Client{Transport: transport}, url: url, token: "Bearer " + user}
}

// Do sends one request, and asks for an answer in the encoding of the body. took is the time from
// the start of the request until the whole answer was read.
func (c *Client) Do(ctx context.Context, method, path, contentType string, body []byte) (status int, answer []byte, took time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, 0, err
	}
	r.Header.Set("Authorization", c.token)
	r.Header.Set("User-Agent", "bench")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if contentType == runtime.ContentTypeProtobuf {
		r.Header.Set("Accept", contentType)
	}
	begun := time.Now()
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, nil, 0, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, time.Since(begun), err
}

// Get returns the body of the answer to a GET of path. If the status is not 200, it returns an
// error.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	status, answer, _, err := c.Do(ctx, http.MethodGet, path, "", nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %s: %d %s", path, status, answer)
	}
	return answer, err
}

// Object returns the object at a path.
func (c *Client) Object(ctx context.Context, path string) (map[string]any, error) {
	answer, err := c.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	err = json.Unmarshal(answer, &out)
	return out, err
}

// Put replaces the object at a path.
func (c *Client) Put(ctx context.Context, path string, object any) (status int, answer []byte, err error) {
	body, err := json.Marshal(object)
	if err != nil {
		return 0, nil, err
	}
	status, answer, _, err = c.Do(ctx, http.MethodPut, path, "application/json", body)
	return status, answer, err
}

// Ensure creates an object if it does not exist yet, and returns the object as the server has it.
// collection is the path for the POST request, and name is the name of the object. While the
// answer is 404, Ensure retries, because a server serves a new kind only after a while.
func (c *Client) Ensure(ctx context.Context, collection, name string, object any) (map[string]any, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var answer []byte
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		status, got, _, err := c.Do(ctx, http.MethodPost, collection, "application/json", body)
		if err != nil {
			return false, err
		}
		switch status {
		case http.StatusCreated:
			answer = got
			return true, nil
		case http.StatusConflict:
			answer, err = c.Get(ctx, collection+"/"+name)
			return true, err
		case http.StatusNotFound:
			answer = got
			return false, nil
		}
		return false, fmt.Errorf("%d %s", status, got)
	})
	if err != nil {
		return nil, fmt.Errorf("make %s/%s: %w (%s)", collection, name, err, answer)
	}
	var out map[string]any
	err = json.Unmarshal(answer, &out)
	return out, err
}
