// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
)

// watchSeconds is how long a server sends events to a watch of the tests. What has happened before arrives at once.
const watchSeconds = "1"

// version returns the resource version of a collection, from which a watch can begin.
func (c client) version(collection string) string {
	list := struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}{}
	body := c.do("GET", collection+"?limit=1", "", nil).body
	if err := json.Unmarshal(body, &list); err != nil || list.Metadata.ResourceVersion == "" {
		c.Fatalf("no version of %s: %v", collection, err)
	}
	return list.Metadata.ResourceVersion
}

// watch compares the events of one object since a version: whole objects, rows of tables, and metadata alone. Then it compares
// the events of all objects that are there, with the bookmark behind them.
func (c client) watch(r resource, collection, name, version string) {
	const as = mediaJSON + ";g=meta.k8s.io;v=v1;as="
	since := url.Values{"watch": {"1"}, "timeoutSeconds": {watchSeconds}, "resourceVersion": {version},
		"fieldSelector": {"metadata.name=" + name}}
	now := url.Values{"watch": {"1"}, "timeoutSeconds": {watchSeconds}, "allowWatchBookmarks": {"true"}, "sendInitialEvents": {"true"},
		"resourceVersionMatch": {"NotOlderThan"}}
	for _, w := range []struct {
		query  url.Values
		accept string
		user   []string
	}{
		{since, mediaJSON, c.user},
		{since, as + "Table", c.user},
		{since, as + "PartialObjectMetadata", c.user},
		{since, mediaJSON, []string{"parity-reader"}},
		{since, mediaJSON, []string{"parity-nobody"}},
		{now, mediaJSON, c.user},
	} {
		if len(w.query["sendInitialEvents"]) > 0 && more[r.Resource] {
			continue
		}
		request, err := http.NewRequestWithContext(c.Context(), http.MethodGet, collection+"?"+w.query.Encode(), nil)
		if err != nil {
			c.Fatal(err)
		}
		out := call{method: http.MethodGet, path: collection, query: w.query, header: http.Header{"Accept": {w.accept}}, user: w.user}
		if out.info, err = c.tee.paths.NewRequestInfo(request); err != nil {
			c.Fatal(err)
		}
		c.tee.mu.Lock()
		a, err := c.tee.compare(c.Context(), out, true)
		c.tee.mu.Unlock()
		if err != nil {
			c.Fatal(err)
		}
		value, _ := a.value()
		sent, _ := value.([]any)
		c.tee.tally.events += len(sent)
		if name := w.query.Get("fieldSelector"); name != "" && w.user[0] == c.user[0] && len(sent) == 0 {
			c.Errorf("no event of %s %s", collection, name)
		}
	}
}

// events returns the events of a watch, a line each, as a JSON array.
func events(stream []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(stream), []byte("\n"))
	return append(append([]byte("["), bytes.Join(lines, []byte(","))...), ']')
}
