// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"kube-granular.dev/hack/upstream/internal/project"
)

// Lock locks the tree against a second run of the tool. If another run has the lock, Lock calls
// wait and then waits for that run. The returned function releases the lock.
func Lock(p project.Project, wait func()) (func(), error) {
	path := p.Path(project.Upstream + ".lock")
	if err := os.MkdirAll(p.Path(project.Upstream), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		wait()
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s.lock: %w", project.Upstream, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
