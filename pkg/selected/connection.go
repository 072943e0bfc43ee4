// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// endingConnection returns a ResponseWriter for a request under a delegation. If the request upgrades its
// connection, so that a handler takes the connection over, the connection is closed when ctx ends.
// Upstream's proxies copy such a connection without looking at the context again.
func endingConnection(ctx context.Context, w http.ResponseWriter, req *http.Request) http.ResponseWriter {
	if !httpstream.IsUpgradeRequest(req) {
		return w
	}
	inner, ok := w.(serverWriter)
	if !ok {
		return struct{ http.ResponseWriter }{w} // nobody can take this one over
	}
	return &endingWriter{inner, ctx}
}

// serverWriter is what a server of HTTP/1.1 passes to handlers, and what upstream's handlers expect.
type serverWriter interface {
	http.ResponseWriter
	responsewriter.CloseNotifierFlusher
}

// endingWriter has no method Unwrap: whoever got at the inner writer could take the connection over
// without its end.
type endingWriter struct {
	serverWriter
	ended context.Context
}

var _ http.Hijacker = &endingWriter{}

// Hijack implements http.Hijacker.
func (w *endingWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, buffered, err := http.NewResponseController(w.serverWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(w.ended, func() {
		// To close a TLS connection, the server writes to it, which can take seconds. Nothing is read meanwhile.
		_ = connection.SetReadDeadline(time.Unix(1, 0))
		_ = connection.Close()
	})
	return connection, buffered, nil
}
