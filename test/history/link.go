// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// link is the way from a server to etcd, which can be cut or held up.
type link struct {
	target string

	lock        sync.Mutex
	cut         bool
	pass        chan struct{} // closed while bytes pass
	connections map[net.Conn]bool
}

// newLink returns a link to an etcd with a Unix socket, and the endpoint of the link.
func newLink(t *testing.T, endpoint string) (*link, string) {
	t.Helper()
	pass := make(chan struct{})
	close(pass)
	l := &link{target: strings.TrimPrefix(endpoint, "unix://"), pass: pass, connections: map[net.Conn]bool{}}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Close()
		l.heal()
		l.disconnect()
	})
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(c)
		}
	}()
	return l, "unix://" + socket
}

func (l *link) serve(client net.Conn) {
	etcd, err := net.Dial("unix", l.target)
	if err != nil {
		_ = client.Close()
		return
	}
	l.lock.Lock()
	if l.cut {
		_, _ = client.Close(), etcd.Close()
	}
	l.connections[client], l.connections[etcd] = true, true
	l.lock.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.copy(etcd, client) })
	both.Go(func() { l.copy(client, etcd) })
	both.Wait()
	l.lock.Lock()
	delete(l.connections, client)
	delete(l.connections, etcd)
	l.lock.Unlock()
}

// copy passes bytes on until one side ends. While the link is held up, it keeps what it has read.
func (l *link) copy(out, source net.Conn) {
	defer out.Close()
	defer source.Close()
	_, _ = io.Copy(gate{l, out}, source)
}

type gate struct {
	link *link
	out  io.Writer
}

func (g gate) Write(p []byte) (int, error) {
	g.link.lock.Lock()
	pass := g.link.pass
	g.link.lock.Unlock()
	<-pass
	return g.out.Write(p)
}

// hold stops all bytes, and keeps the connections.
func (l *link) hold() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.pass = make(chan struct{})
}

// sever ends all connections, and each new one.
func (l *link) sever() {
	l.lock.Lock()
	l.cut = true
	l.lock.Unlock()
	l.disconnect()
}

// heal lets bytes and connections pass again.
func (l *link) heal() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.cut = false
	select {
	case <-l.pass:
	default:
		close(l.pass)
	}
}

func (l *link) disconnect() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for c := range l.connections {
		_ = c.Close()
	}
}
