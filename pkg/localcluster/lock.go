// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// listenOn listens on a port of 127.0.0.1. The server later uses the returned listener, so that no
// other process can take the port before the server starts.
func listenOn(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d on 127.0.0.1 is taken: stop what listens there, or use --port to choose another (--port 0 picks a free one)", port)
	}
	if err != nil {
		return nil, fmt.Errorf("port %d on 127.0.0.1: %w", port, err)
	}
	return l, nil
}

// checkOwner returns an error if somebody else may write into a directory: a kubeconfig that is put there runs commands.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("the cluster's directory: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("directory %s belongs to another user: use --dir to choose another", relativePath(dir))
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("others may write into directory %s: use --dir to choose another, or take that away by chmod o-w",
			relativePath(dir))
	}
	return nil
}

// lockDir creates the directory if needed and locks it until release is called or the process
// ends.
func lockDir(dir string) (release func(), err error) {
	// Others can't access the directory, because it contains the credentials of an administrator.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the cluster's directory: %w", err)
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "lock")
	lock, err := fileutil.TryLockFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		holder := "another kube-granular"
		if pid, err := os.ReadFile(path); err == nil && len(pid) > 0 {
			holder += " (process " + strings.TrimSpace(string(pid)) + ")"
		}
		return nil, fmt.Errorf("directory %s is in use by %s: stop that, or use --dir to choose another", relativePath(dir), holder)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the cluster's directory: %w", err)
	}
	if err := lock.Truncate(0); err == nil {
		_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("write the lock of the cluster's directory: %w", err)
	}
	// The lock file is not removed. If it were, one process could lock a new file of the same name
	// while another process still holds the lock of the removed file.
	return func() { _ = lock.Close() }, nil
}
