// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs one etcd member inside this process.
//
// Model: a single member, its data in a directory, reached over a unix socket.
//
// Invariant: whoever reaches etcd is past every authorizer, so nothing but this
// user reaches it. The socket lies in a directory closed to others, and there is
// no TCP listener at all, for peers neither.
//
// The package may not know what is stored.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// maxSocketPath is what the kernel takes as the path of a unix socket, in bytes
// (sun_path in unix(7), less the closing zero; the shorter of Linux's 107 and
// the BSDs' 103).
const maxSocketPath = 103

const memberName = "kube-granular"

// ErrDamaged is the error of data that etcd can't read.
var ErrDamaged = errors.New("its data is damaged")

// Config says where a member lives.
type Config struct {
	// DataDir holds the data; created when absent, with mode 0700.
	DataDir string
	// RunDir holds the socket; created when absent, closed to others.
	RunDir string
	// LogFile is appended to.
	LogFile string
	// Fatal is called when etcd cannot go on, before the process ends.
	Fatal func(message string)
}

// Member is an etcd with a place to run in.
type Member struct {
	config  Config
	logger  *zap.Logger
	socket  string
	cleanup func()
	// etcd is nil until it was started.
	etcd *embed.Etcd
}

// New opens the log of a member and finds a place for its socket, so that its endpoint is
// known. Nothing runs yet. Stop undoes it.
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

// Start starts the member and waits until it serves. It is called once. On an error, or
// when ctx is done first, the member is to be stopped.
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

// startEmbedded is embed.StartEtcd without its panics, which are what it makes of data that it
// can't read.
func startEmbedded(c *embed.Config) (server *embed.Etcd, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			server, err = nil, fmt.Errorf("%w: %v", ErrDamaged, cause)
		}
	}()
	return embed.StartEtcd(c)
}

// Endpoint is the URL clients use, as in kube-apiserver's --etcd-servers.
func (m *Member) Endpoint() string { return "unix://" + m.socket }

// Err reports a listener of a started member that failed; it is closed by Stop.
func (m *Member) Err() <-chan error { return m.etcd.Err() }

// Stop ends the member, if it was started, and waits until its data is on disk.
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
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)

	client := url.URL{Scheme: "unix", Path: socket}
	c.ListenClientUrls = []url.URL{client}
	c.AdvertiseClientUrls = []url.URL{client}

	// A member needs an address by which it would be known to peers. There are
	// none, so nothing listens there.
	c.ListenPeerUrls = nil
	c.InitialCluster = c.InitialClusterFromName(memberName)
	return c
}

// socketPath returns the path for the socket. If dir is too deep for one, the
// socket gets a directory of its own among the temporary files.
func socketPath(dir string) (path string, cleanup func(), err error) {
	path = filepath.Join(dir, "etcd.sock")
	if len(path) <= maxSocketPath {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", nil, fmt.Errorf("create the directory for etcd's socket: %w", err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return "", nil, fmt.Errorf("close the directory of etcd's socket to others: %w", err)
		}
		return path, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "kube-granular-")
	if err != nil {
		return "", nil, fmt.Errorf("create the directory for etcd's socket: %w", err)
	}
	return filepath.Join(dir, "etcd.sock"), func() { _ = os.RemoveAll(dir) }, nil
}

// newLogger writes etcd's log to its file. It is built here, and not by etcd,
// so that a fatal error reaches the terminal as well as the file.
func newLogger(cfg Config) (*zap.Logger, func(), error) {
	file, err := os.OpenFile(cfg.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open etcd's log: %w", err)
	}
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(file), zapcore.InfoLevel)
	logger := zap.New(core, zap.AddCaller(), zap.WithFatalHook(fatalHook(cfg.Fatal)), zap.WithPanicHook(fatalHook(cfg.Fatal)))
	return logger, func() { _ = file.Close() }, nil
}

// fatalHook ends the process with a message, also where etcd would panic, which it does on
// goroutines of its own if it can't read its data.
type fatalHook func(message string)

func (h fatalHook) OnWrite(entry *zapcore.CheckedEntry, _ []zapcore.Field) {
	h(entry.Message)
	os.Exit(1)
}
