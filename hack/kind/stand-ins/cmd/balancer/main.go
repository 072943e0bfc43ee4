// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command balancer stands in for the load balancer that kind starts before several control
// planes. It reads the port to listen on and the servers from the files that kind writes for
// Envoy, and forwards connections to the servers in turn, passing over those that don't answer.
package main

import (
	"errors"
	"io"
	"log"
	"net"
	"os"
	"regexp"
	"sync/atomic"
	"time"
)

const (
	listenersFile = "/home/envoy/lds.yaml"
	serversFile   = "/home/envoy/cds.yaml"
)

// endpoint finds an address and a port in Envoy's configuration, as kind writes it.
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
		return nil, errors.New(path + " names no address")
	}
	return found, nil
}

func main() {
	// kind writes the files once the container runs.
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
	for {
		client, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go forward(client)
	}
}

var turn atomic.Uint32

// forward connects a client to the next server that answers within a second.
func forward(client net.Conn) {
	defer client.Close()
	servers, err := endpoints(serversFile)
	if err != nil {
		log.Print(err)
		return
	}
	first := int(turn.Add(1)) % len(servers)
	for i := range servers {
		server, err := net.DialTimeout("tcp", servers[(first+i)%len(servers)], time.Second)
		if err != nil {
			log.Print(err)
			continue
		}
		defer server.Close()
		go copyAndClose(server, client)
		copyAndClose(client, server)
		return
	}
}

// copyAndClose tells the one that no more comes when the other has said so.
func copyAndClose(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return
	}
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}
