// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/api/printing"
)

// Down stops the cluster of a directory, if it runs, and waits until its process has released the
// directory. If remove is true, it then deletes the directory. It returns an error if the directory
// never had a cluster.
func Down(ctx context.Context, dir string, remove bool, out io.Writer) error {
	path := filepath.Join(dir, "lock")
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no cluster in the directory %s: use --dir to name another", relativePath(dir))
		}
		return fmt.Errorf("the cluster's directory: %w", err)
	}
	lock, err := fileutil.TryLockFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		lock, err = interrupt(ctx, path, dir, out)
	}
	if err != nil {
		return fmt.Errorf("lock the cluster's directory %s: %w", relativePath(dir), err)
	}
	// Hold the lock until Down returns, so that no cluster starts in the directory while it is
	// being deleted.
	defer lock.Close()
	if !remove {
		printing.Fprintf(out, "stopped; the data stays in %s\n", relativePath(dir))
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("delete the cluster's directory: %w", err)
	}
	printing.Fprintf(out, "stopped; deleted %s\n", relativePath(dir))
	return nil
}

// interrupt sends SIGINT, as Ctrl-C does, to the process that holds the lock, waits until that
// process has released the lock, takes the lock, and returns it. The process ID in the lock file
// is that of the right process, because a process that holds a lock is alive.
func interrupt(ctx context.Context, path, dir string, out io.Writer) (*fileutil.LockedFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return nil, errors.New("a process holds the lock but its process ID is not in the file lock: stop that process yourself")
	}
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Signal(os.Interrupt)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("stop the process %d: %w", pid, err)
	}
	printing.Fprintf(out, "waiting for process %d to stop the cluster in %s\n", pid, relativePath(dir))
	var lock *fileutil.LockedFile
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		l, err := fileutil.TryLockFile(path, os.O_RDWR, 0o600)
		if errors.Is(err, fileutil.ErrLocked) {
			return false, nil
		}
		lock = l
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("process %d still holds the lock: %w", pid, err)
	}
	return lock, nil
}
