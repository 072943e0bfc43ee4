// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/pkg/localcluster/pki"
)

// patience is the timeout for the start of a process on a busy machine.
const patience = 5 * time.Minute

// Stage holds the files and the etcd that all servers share.
type Stage struct {
	// Dir is the directory of all files. The caller must remove it.
	Dir string
	// Files are the files with the CA, and with the certificates of servers and webhooks.
	Files pki.Files

	socket string
	etcd   *Child
}

// Administrator is a user in the group system:masters, who may do everything. Other users have only
// the permissions that RBAC grants them. The token of each user is the user's name.
const Administrator = "admin"

// NewStage creates certificates and starts etcd. users are the users in addition to Administrator.
func NewStage(ctx context.Context, dir, etcd string, users ...string) (*Stage, error) {
	_, files, err := pki.Ensure(filepath.Join(dir, "pki"))
	if err != nil {
		return nil, err
	}
	s := &Stage{Dir: dir, Files: files}
	tokens := fmt.Sprintf("%[1]s,%[1]s,%[1]s,system:masters\n", Administrator)
	for _, user := range users {
		tokens += fmt.Sprintf("%[1]s,%[1]s,%[1]s\n", user)
	}
	if err := os.WriteFile(s.tokens(), []byte(tokens), 0o600); err != nil {
		return nil, err
	}
	return s, s.startEtcd(ctx, etcd)
}

func (s *Stage) tokens() string { return filepath.Join(s.Dir, "tokens.csv") }

// CA returns the certificate of the CA as PEM.
func (s *Stage) CA() ([]byte, error) { return os.ReadFile(s.Files.CA) }

// startEtcd starts an etcd that does not sync its writes to the disk, so that the disk does not
// influence the latencies of the servers.
func (s *Stage) startEtcd(ctx context.Context, binary string) error {
	s.socket = filepath.Join(s.Dir, "etcd.sock")
	const peer = "unix://localhost:0"
	cmd := exec.Command(binary, "--name=bench", "--data-dir="+filepath.Join(s.Dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=unix://"+s.socket, "--advertise-client-urls=unix://"+s.socket,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=bench="+peer,
		"--quota-backend-bytes=8589934592", "--auto-compaction-mode=revision", "--auto-compaction-retention=20000", "--log-level=warn")
	cmd.Dir = s.Dir
	var err error
	if s.etcd, err = Start(cmd, filepath.Join(s.Dir, "etcd.log")); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		if s.etcd.Ended() {
			return false, fmt.Errorf("etcd ended\n%s", s.etcd.tail())
		}
		conn, err := net.Dial("unix", s.socket)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
}

// Stop kills etcd. The caller must stop all servers before.
func (s *Stage) Stop() error { return s.etcd.Stop() }
