// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package golang runs the go command.
//
// It uses no workspace unless the caller names one, because the tool must work before the project's
// workspace exists. The package must not change go.mod or go.sum: it downloads modules in an empty folder.
package golang

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// Go is a go command found on PATH.
type Go struct {
	path    string
	version string
}

// Locate finds the go command. It fails if there is none.
func Locate() (*Go, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, errors.New("no go command on PATH: install Go (https://go.dev/dl/) and put its bin folder on PATH")
	}
	return &Go{path: path}, nil
}

// Require returns an error if the go command is older than line, the Go version that a go.mod
// requires. where says whose go.mod that is, for the text of the error.
func (g *Go) Require(ctx context.Context, line, where string) error {
	if g.version == "" {
		out, err := g.run(ctx, os.TempDir(), "off", "env", "GOVERSION")
		if err != nil {
			return err
		}
		g.version, _, _ = strings.Cut(strings.TrimSpace(string(out)), " ") // "go1.26.0 X:experiment"
	}
	if version.Compare(g.version, "go"+line) < 0 {
		return fmt.Errorf("go on PATH is %s, but %s needs go %s or later", g.version, where, line)
	}
	return nil
}

// Downloaded is a module in the module cache.
type Downloaded struct {
	module.Version
	// Dir is the read-only folder that holds its files. It is empty if the module could not be downloaded, for
	// the reason in Error.
	Dir, Error string
	// Sum and GoModSum are its sums in the form of go.sum.
	Sum, GoModSum string
}

// tooNew matches the message of a go command that is too old for a module.
var tooNew = regexp.MustCompile(`requires go >= ([0-9.]+)`)

// Download downloads modules into the module cache and returns them in the given order. It fails if the go command
// is too old for one of them.
func (g *Go) Download(ctx context.Context, mods []module.Version) ([]Downloaded, error) {
	empty, err := os.MkdirTemp("", "upstream-download-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(empty)
	args := []string{"mod", "download", "-json"}
	for _, m := range mods {
		args = append(args, m.String())
	}
	out, failed := g.run(ctx, empty, "off", args...)
	found := map[module.Version]Downloaded{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var d Downloaded
		if err := dec.Decode(&d); err != nil {
			return nil, errors.Join(fmt.Errorf("go mod download: unreadable answer: %w", err), failed)
		}
		found[d.Version] = d
	}
	var all []Downloaded
	for _, m := range mods {
		d := found[m]
		if d.Dir == "" || d.Error != "" {
			if d.Error == "" {
				d.Error = fmt.Sprint(failed)
			}
			if line := tooNew.FindStringSubmatch(d.Error); line != nil {
				if err := g.Require(ctx, line[1], m.String()); err != nil {
					return nil, err
				}
			}
			d = Downloaded{Version: m, Error: strings.TrimSpace(m.String() + ": " + strings.TrimPrefix(d.Error, m.String()+": "))}
		}
		all = append(all, d)
	}
	return all, nil
}

// Build builds packages of a workspace. It writes only to the build cache, unless the arguments name an output.
func (g *Go) Build(ctx context.Context, dir, workspace string, args ...string) error {
	_, err := g.run(ctx, dir, workspace, append([]string{"build", "-mod=readonly", "-buildvcs=false", "-trimpath"}, args...)...)
	return err
}

// Exec runs a program in a workspace with go on its PATH, and returns its standard output.
func (g *Go) Exec(ctx context.Context, dir, workspace, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	path := filepath.Dir(g.path) + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Env = append(environment(), "GOWORK="+workspace, "LC_ALL=C", "PATH="+path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n  %s", filepath.Base(program), err, strings.ReplaceAll(strings.TrimSpace(stderr.String()), "\n", "\n  "))
	}
	return out, err
}

func (g *Go) run(ctx context.Context, dir, workspace string, args ...string) ([]byte, error) {
	out, err := g.Exec(ctx, dir, workspace, g.path, args...)
	if err != nil {
		err = fmt.Errorf("go %s: %w", strings.Join(args[:min(2, len(args))], " "), err)
	}
	return out, err
}

// environment returns the environment of this process without a foreign platform, and without -mod and -modfile in
// GOFLAGS, which a workspace does not allow.
func environment() (env []string) {
	for _, kv := range os.Environ() {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "GOOS", "GOARCH":
		case "GOFLAGS":
			flags := slices.DeleteFunc(strings.Fields(value), func(f string) bool {
				f = strings.TrimLeft(f, "-")
				return strings.HasPrefix(f, "mod=") || strings.HasPrefix(f, "modfile=")
			})
			env = append(env, "GOFLAGS="+strings.Join(flags, " "))
		default:
			env = append(env, kv)
		}
	}
	return env
}
