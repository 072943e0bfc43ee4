// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// call is a request of a client.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
	// user is the name and the groups of a client certificate.
	user []string
	// id is the identifier of the request in audit logs.
	id   string
	info *request.RequestInfo
}

func (c call) String() string {
	if len(c.query) == 0 {
		return c.method + " " + c.path
	}
	return c.method + " " + c.path + "?" + c.query.Encode()
}

// named returns a call with a name for the object that it creates: one that a server generates would be another one on each
// server.
func (c call) named() call {
	f := format(c.header.Get("Content-Type"))
	if c.method != http.MethodPost || f == "" || !bytes.Contains(c.body, []byte("generateName")) && f == mediaJSON {
		return c
	}
	value, err := decode(f, c.body)
	if err != nil {
		return c
	}
	object, _ := value.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	prefix, _ := metadata["generateName"].(string)
	if given, _ := metadata["name"].(string); given != "" || prefix == "" {
		return c
	}
	metadata["name"] = prefix + rand.String(5)
	if body, err := encode(f, value); err == nil {
		c.body = body
	}
	return c
}

// inFormat returns the same question in another format: of a read, or of a write as a dry run.
func (c call) inFormat(turn int) (call, bool) {
	if !c.info.IsResourceRequest {
		return c, false
	}
	c.header = c.header.Clone()
	if c.method == http.MethodGet {
		meta := ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		if c.info.Verb == "list" {
			meta = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		}
		const table = mediaJSON + ";as=Table;g=meta.k8s.io;v=v1"
		c.header.Set("Accept", []string{mediaProtobuf, mediaCBOR, mediaYAML, table, mediaProtobuf + meta, mediaJSON}[turn%6])
		return c, true
	}
	from := c.header.Get("Content-Type")
	if strings.Contains(from, "patch") || c.method == http.MethodDelete || len(c.query["dryRun"]) > 0 || format(from) == "" {
		return c, false
	}
	value, err := decode(format(from), c.body)
	if err != nil {
		return c, false
	}
	to := []string{mediaProtobuf, mediaCBOR, mediaYAML, mediaJSON}[turn%4]
	if c.body, err = encode(to, value); err != nil {
		return c, false
	}
	query := maps.Clone(c.query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("dryRun", "All")
	c.query = query
	c.header.Set("Content-Type", to)
	c.header.Set("Accept", to)
	return c, true
}
