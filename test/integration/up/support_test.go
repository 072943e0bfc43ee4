// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// startEtcd runs bin/etcd, as an existing etcd of an administrator, and returns its endpoint.
func startEtcd(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	endpoint := "unix://" + filepath.Join(dir, "s")
	said := &output{}
	cmd := exec.Command(binary(t, "etcd"), "--data-dir", filepath.Join(dir, "data"),
		"--listen-client-urls", endpoint, "--advertise-client-urls", endpoint,
		"--listen-peer-urls", "http://127.0.0.1:0")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	// The client retries until etcd answers.
	if _, err := client.Get(ctx, "ready", clientv3.WithLimit(1)); err != nil {
		t.Fatalf("etcd: %v\n%s", err, said)
	}
	return endpoint
}

// listening returns the TCP addresses on which the process listens.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Skipf("this system does not tell who listens where: %v", err)
	}
	inodes := map[string]bool{}
	for _, fd := range fds {
		if link, err := os.Readlink(filepath.Join(proc, "fd", fd.Name())); err == nil {
			if inode, ok := strings.CutPrefix(link, "socket:["); ok {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	const listen = "0A" // TCP_LISTEN in the kernel's include/net/tcp_states.h
	var addresses []string
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(filepath.Join(proc, "net", table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == listen && inodes[f[9]] {
				addresses = append(addresses, address(t, f[1]))
			}
		}
	}
	slices.Sort(addresses)
	return addresses
}

// address parses an address in the format of proc(5): the IP in words of four bytes in the byte
// order of the machine, here little-endian, and then the port.
func address(t *testing.T, s string) string {
	t.Helper()
	host, port, _ := strings.Cut(s, ":")
	ip, err := hex.DecodeString(host)
	if err != nil {
		t.Fatal(err)
	}
	for word := range slices.Chunk(ip, 4) {
		slices.Reverse(word)
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(net.IP(ip).String(), fmt.Sprint(n))
}
