// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// isStream reports whether an answer does not end by itself, or is not the server's.
func isStream(r *http.Request, info *request.RequestInfo) bool {
	return info.Verb == "watch" || info.Verb == "watchlist" || r.Header.Get("Upgrade") != "" || r.URL.Query().Get("follow") == "true" ||
		slices.Contains([]string{"proxy", "exec", "attach", "portforward", "log"}, info.Subresource)
}

func (t *tee) stream(w http.ResponseWriter, r *http.Request, c call) {
	leader := t.servers[0]
	target, err := url.Parse(leader.url)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client := leader.client(c)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Transport: client.Transport, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.Out.Header.Del("X-Remote-User")
		p.Out.Header.Del("X-Remote-Group")
		identify(p.Out.Header, c.user)
	}}
	proxy.ServeHTTP(w, r)
}
