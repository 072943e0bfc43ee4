// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs one etcd member inside this process.
//
// Model: the member is the only one, and has its data in a directory. Clients connect by a Unix
// socket.
//
// Invariant: a client of etcd bypasses every authorizer, so only the operating system user of this
// process can connect. The socket is in a directory that only this user can access, and there is
// no TCP listener, not even for peers.
//
// The package does not depend on what is stored.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// maxSocketPath is the maximum length of the path of a Unix socket, in bytes (sun_path in unix(7)
// without the final zero; the shorter of Linux's 107 and the BSDs' 103).
const maxSocketPath = 103

const memberName = "kube-granular"

// ErrDamaged is the error for data that etcd can't read.
var ErrDamaged = errors.New("its data is damaged")

// Config configures a member.
type Config struct {
	// DataDir is the data directory. It is created with mode 0700 if needed.
	DataDir string
	// RunDir is the directory of the socket. It is created if needed, and only the user of this
	// process gets access to it.
	RunDir string
	// NoSync leaves it to the operating system when data reaches the disk. The data survives the end
	// of the process, and a crash of the machine can damage it.
	NoSync bool
	// LogFile is the log file, to which the member appends.
	LogFile string
	// Fatal is called before the process exits because etcd can't continue.
	Fatal func(message string)
}

// Member is an etcd member.
type Member struct {
	config  Config
	logger  *zap.Logger
	socket  string
	cleanup func()
	// etcd is nil until Start.
	etcd *embed.Etcd
}

// New opens the log and chooses the path of the socket, so that the endpoint is known. Nothing
// runs yet. Stop releases the resources.
func New(cfg Config) (*Member, error) {
	logger, closeLog, err := newLogger(cfg)
	if err != nil {
		return nil, err
	}
	socket, removeSocketDir, err := socketPath(cfg.RunDir)
	if err != nil {
		closeLog()
		return nil, err
	}
	return &Member{config: cfg, logger: logger, socket: socket, cleanup: func() {
		removeSocketDir()
		closeLog()
	}}, nil
}

// Start starts the member and waits until it serves. It must be called at most once. After an
// error the member must be stopped.
func (m *Member) Start(ctx context.Context) error {
	server, err := startEmbedded(embedConfig(m.config, m.socket, m.logger))
	if err != nil {
		return fmt.Errorf("start etcd with data in %s: %w (its log is %s)", m.config.DataDir, err, m.config.LogFile)
	}
	m.etcd = server
	select {
	case <-server.Server.ReadyNotify():
		return nil
	case err = <-server.Err():
	case <-server.Server.StopNotify():
		err = fmt.Errorf("it stopped")
	case <-ctx.Done():
		err = ctx.Err()
	}
	return fmt.Errorf("etcd with data in %s did not become ready: %w (its log is %s)", m.config.DataDir, err, m.config.LogFile)
}

// startEmbedded calls embed.StartEtcd, and converts a panic to an error. embed.StartEtcd panics if
// etcd can't read its data.
func startEmbedded(c *embed.Config) (server *embed.Etcd, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			server, err = nil, fmt.Errorf("%w: %v", ErrDamaged, cause)
		}
	}()
	return embed.StartEtcd(c)
}

// Endpoint returns the URL for clients, in the form of kube-apiserver's --etcd-servers.
func (m *Member) Endpoint() string { return "unix://" + m.socket }

// Err returns a channel that receives the error of a listener that fails. Stop closes the channel.
func (m *Member) Err() <-chan error { return m.etcd.Err() }

// Stop stops the member, if it was started, and waits until its data is on disk.
func (m *Member) Stop() {
	if m.etcd != nil {
		m.etcd.Close()
	}
	m.cleanup()
}

func embedConfig(cfg Config, socket string, logger *zap.Logger) *embed.Config {
	c := embed.NewConfig()
	c.Name = memberName
	c.Dir = cfg.DataDir
	c.UnsafeNoFsync = cfg.NoSync
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)

	client := url.URL{Scheme: "unix", Path: socket}
	c.ListenClientUrls = []url.URL{client}
	c.AdvertiseClientUrls = []url.URL{client}

	// The configuration of a member must have a peer address. There are no peers, so the member
	// does not listen on it.
	c.ListenPeerUrls = nil
	c.InitialCluster = c.InitialClusterFromName(memberName)
	return c
}

// socketPath returns a path for the socket in dir. If that path would be too long, or has a comma,
// which separates the URLs of servers in a flag, it returns one in a new temporary directory, which
// cleanup removes.
func socketPath(dir string) (path string, cleanup func(), err error) {
	path = filepath.Join(dir, "etcd.sock")
	if len(path) <= maxSocketPath && !strings.Contains(path, ",") {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", nil, fmt.Errorf("create the directory for etcd's socket: %w", err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return "", nil, fmt.Errorf("restrict the directory of etcd's socket to its owner: %w", err)
		}
		return path, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "kube-granular-")
	if err != nil {
		return "", nil, fmt.Errorf("create the directory for etcd's socket: %w", err)
	}
	return filepath.Join(dir, "etcd.sock"), func() { _ = os.RemoveAll(dir) }, nil
}

// newLogger returns a logger that writes to etcd's log file. Unlike the logger that etcd would
// create, it also calls cfg.Fatal with a fatal error.
func newLogger(cfg Config) (*zap.Logger, func(), error) {
	file, err := os.OpenFile(cfg.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open etcd's log: %w", err)
	}
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(file), zapcore.InfoLevel)
	logger := zap.New(core, zap.AddCaller(), zap.WithFatalHook(fatalHook(cfg.Fatal)), zap.WithPanicHook(fatalHook(cfg.Fatal)))
	return logger, func() { _ = file.Close() }, nil
}

// fatalHook is called with a message, and then exits the process. It replaces a panic of the logger
// with which etcd, on its own goroutines, would end the process if it can't read its data.
type fatalHook func(message string)

func (h fatalHook) OnWrite(entry *zapcore.CheckedEntry, _ []zapcore.Field) {
	h(entry.Message)
	os.Exit(1)
}
