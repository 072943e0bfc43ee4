// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command balancer replaces the load balancer that kind starts for several control planes. It
// reads its port and the servers from the files that kind writes for Envoy, and forwards
// connections to the ready servers round-robin. When a server is no longer ready, its connections
// are closed, so that clients reconnect to another server.
package main

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"sync"
	"time"
)

const (
	listenersFile = "/home/envoy/lds.yaml"
	serversFile   = "/home/envoy/cds.yaml"
)

// endpoint matches the address and the port of a server or listener in the Envoy configuration that
// kind writes.
var endpoint = regexp.MustCompile(`address:\s*"?([^\s"]+)"?\s*\n\s*port_value:\s*(\d+)`)

func endpoints(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, m := range endpoint.FindAllStringSubmatch(string(data), -1) {
		found = append(found, net.JoinHostPort(m[1], m[2]))
	}
	if len(found) == 0 {
		return nil, errors.New(path + " has no address")
	}
	return found, nil
}

func main() {
	// kind writes the configuration files after the container has started, so wait for them.
	addresses, err := endpoints(listenersFile)
	for err != nil {
		time.Sleep(200 * time.Millisecond)
		addresses, err = endpoints(listenersFile)
	}
	listener, err := net.Listen("tcp", addresses[0])
	if err != nil {
		log.Fatal(err)
	}
	log.Print("listening on ", addresses[0])
	b := &balancer{open: map[string]map[net.Conn]bool{}}
	go b.watch()
	for {
		client, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go b.forward(client)
	}
}

type balancer struct {
	mu    sync.Mutex
	turn  int
	ready []string
	open  map[string]map[net.Conn]bool // By server.
}

// watch checks twice a second which servers are ready.
func (b *balancer) watch() {
	// The certificates of the servers are not verified, because no secret is sent to them.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	client := &http.Client{Timeout: time.Second, Transport: transport}
	for ; ; time.Sleep(500 * time.Millisecond) {
		servers, err := endpoints(serversFile)
		if err != nil {
			log.Print(err)
			continue
		}
		answers := make([]bool, len(servers))
		var all sync.WaitGroup
		for i, server := range servers {
			all.Go(func() {
				answer, err := client.Get("https://" + server + "/readyz")
				if err == nil {
					answer.Body.Close()
					answers[i] = answer.StatusCode == http.StatusOK
				}
			})
		}
		all.Wait()
		var ready []string
		for i, server := range servers {
			if answers[i] {
				ready = append(ready, server)
			}
		}
		if len(ready) == 0 {
			ready = servers // The first control plane must be reachable before it is ready.
		}
		b.set(ready)
	}
}

// set stores the servers that are ready, and closes the connections to all others.
func (b *balancer) set(ready []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = ready
	now := map[string]bool{}
	for _, server := range ready {
		now[server] = true
	}
	for server, connections := range b.open {
		for c := range connections {
			if !now[server] {
				c.Close()
			}
		}
	}
}

// next returns the ready servers in the order in which a new connection should try them. Each call
// begins with the next server.
func (b *balancer) next() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	var servers []string
	for i := range b.ready {
		servers = append(servers, b.ready[(b.turn+i)%len(b.ready)])
	}
	return servers
}

func (b *balancer) keep(server string, c net.Conn, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[server] == nil {
		b.open[server] = map[net.Conn]bool{}
	}
	if open {
		b.open[server][c] = true
	} else {
		delete(b.open[server], c)
	}
}

// forward connects a client to the next server that accepts a connection within a second.
func (b *balancer) forward(client net.Conn) {
	defer client.Close()
	for _, address := range b.next() {
		server, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			log.Print(err)
			continue
		}
		defer server.Close()
		b.keep(address, client, true)
		defer b.keep(address, client, false)
		go copyAndClose(server, client)
		copyAndClose(client, server)
		return
	}
}

// copyAndClose copies until EOF and then closes the write side of the destination.
func copyAndClose(target, source net.Conn) {
	if _, err := io.Copy(target, source); err != nil {
		target.Close()
		return
	}
	if half, ok := target.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}
