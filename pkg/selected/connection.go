// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"kube-granular.dev/api/selection"
)

// onUpgrade returns a ResponseWriter for a request with a selection. If the request upgrades its connection, so that a
// handler takes the connection over, then
//
//   - the connection is closed when ended is done, unless ended is nil: upstream's proxies copy such a connection without
//     looking at the context of the request again;
//   - the answer repeats the selection, unless repeated is empty: upstream's proxies pass on the answer of the other
//     side, such as a node, which has not seen the selection.
func onUpgrade(ended context.Context, repeated string, w http.ResponseWriter, req *http.Request) http.ResponseWriter {
	if !httpstream.IsUpgradeRequest(req) || ended == nil && repeated == "" {
		return w
	}
	inner, ok := w.(serverWriter)
	if !ok {
		return struct{ http.ResponseWriter }{w} // nobody can take this one over
	}
	return &upgradingWriter{inner, ended, repeated}
}

// serverWriter is what a server of HTTP/1.1 passes to handlers, and what upstream's handlers expect.
type serverWriter interface {
	http.ResponseWriter
	responsewriter.CloseNotifierFlusher
}

// upgradingWriter has no method Unwrap: whoever got at the inner writer could take the connection over
// without its end.
type upgradingWriter struct {
	serverWriter
	ended    context.Context
	repeated string
}

var _ http.Hijacker = &upgradingWriter{}

// Hijack implements http.Hijacker.
func (w *upgradingWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, buffered, err := http.NewResponseController(w.serverWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if w.ended != nil {
		context.AfterFunc(w.ended, func() {
			// To close a TLS connection, the server writes to it, which can take seconds. Nothing is read meanwhile.
			_ = connection.SetReadDeadline(time.Unix(1, 0))
			_ = connection.Close()
		})
	}
	if w.repeated == "" {
		return connection, buffered, nil
	}
	repeating := &repeatingConnection{Conn: connection, header: selection.Header + ": " + w.repeated + "\r\n"}
	return repeating, bufio.NewReadWriter(buffered.Reader, bufio.NewWriter(repeating)), nil
}

// repeatingConnection inserts a header into the answer with which what is written begins. An answer that the server
// itself wrote before the connection was taken over has the header already; then what is written is no answer.
type repeatingConnection struct {
	net.Conn
	// header is a line, with its end.
	header  string
	written atomic.Bool
}

// Write implements net.Conn. Each handler of upstream writes the status line at once. If one does not, the
// answer lacks the header, and the client refuses the connection.
func (c *repeatingConnection) Write(p []byte) (int, error) {
	if c.written.Swap(true) {
		return c.Conn.Write(p)
	}
	status, rest, whole := bytes.Cut(p, []byte("\r\n"))
	if !whole || !bytes.HasPrefix(status, []byte("HTTP/1.")) {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(slices.Concat(status, []byte("\r\n"+c.header), rest))
	if n > len(status) {
		// What was inserted does not count, and nothing before is written twice.
		n = max(n-len(c.header), len(status))
	}
	return n, err
}
