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
	"io"
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
		g.version = strings.TrimSpace(string(out))
	}
	have, _, _ := strings.Cut(g.version, " ") // "go1.26.0 X:experiment"
	if version.Compare(have, "go"+line) < 0 {
		return fmt.Errorf("go on PATH is %s, but %s needs go %s or later", have, where, line)
	}
	return nil
}

// Downloaded is a module in the module cache.
type Downloaded struct {
	Path, Version string
	// Dir is the read-only folder that holds its files.
	Dir string
	// Sum and GoModSum are its sums in the form of go.sum.
	Sum, GoModSum string
	// Error is the reason why the module could not be downloaded.
	Error string
}

// tooNew matches the message of a go command that is too old for a module.
var tooNew = regexp.MustCompile(`requires go >= ([0-9.]+)`)

// MissingError lists modules that could not be downloaded.
type MissingError struct {
	Asked int
	// Missing are the modules and the reasons, one line each.
	Missing []string
}

func (e *MissingError) Error() string {
	slices.Sort(e.Missing)
	return fmt.Sprintf("cannot download %d of %d modules; check the network and the proxy that GOPROXY names\n  %s",
		len(e.Missing), e.Asked, strings.Join(e.Missing, "\n  "))
}

// DownloadSome downloads modules into the module cache and returns them in the given order. If it cannot
// download one of them, its Dir is empty, and its Error begins with its path and version.
func (g *Go) DownloadSome(ctx context.Context, mods []module.Version) ([]Downloaded, error) {
	empty, err := os.MkdirTemp("", "upstream-download-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(empty)
	args := []string{"mod", "download", "-json"}
	for _, m := range mods {
		args = append(args, m.String())
	}
	out, runErr := g.run(ctx, empty, "off", args...)
	byName := map[string]Downloaded{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var d Downloaded
		if err := dec.Decode(&d); err == io.EOF {
			break
		} else if err != nil {
			return nil, errors.Join(fmt.Errorf("go mod download: unreadable answer: %w", err), runErr)
		}
		byName[d.Path+"@"+d.Version] = d
	}
	var all []Downloaded
	for _, m := range mods {
		d, ok := byName[m.String()]
		if !ok || d.Error != "" || d.Dir == "" {
			why := d.Error
			if why == "" && runErr != nil {
				why = runErr.Error()
			}
			if line := tooNew.FindStringSubmatch(why); line != nil {
				if err := g.Require(ctx, line[1], m.String()); err != nil {
					return nil, err
				}
			}
			d = Downloaded{Path: m.Path, Version: m.Version, Error: strings.TrimSpace(m.String() + ": " + strings.TrimPrefix(why, m.String()+": "))}
		}
		all = append(all, d)
	}
	return all, nil
}

// Compile compiles packages of a workspace and writes only to the build cache. The error contains the whole output
// of the compiler.
func (g *Go) Compile(ctx context.Context, dir, workspace string, pkgs []string) error {
	cmd := g.command(ctx, dir, workspace, g.path, append([]string{"build", "-mod=readonly", "-buildvcs=false", "-trimpath"}, pkgs...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n  %s", err, strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "\n  "))
	}
	return nil
}

// Build builds one program of a workspace into a file.
func (g *Go) Build(ctx context.Context, dir, workspace, pkg, out string) error {
	_, err := g.run(ctx, dir, workspace, "build", "-mod=readonly", "-buildvcs=false", "-o", out, pkg)
	return err
}

// Exec runs a program in a workspace with go on its PATH, and returns its standard output. An error has the last 20
// lines of the program's other output, where the cause usually is.
func (g *Go) Exec(ctx context.Context, dir, workspace, program string, args ...string) ([]byte, error) {
	cmd := g.command(ctx, dir, workspace, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		if n := len(lines) - 20; n > 0 {
			lines = append([]string{fmt.Sprintf("(%d lines left out)", n)}, lines[n:]...)
		}
		err = fmt.Errorf("%s: %w\n  %s", filepath.Base(program), err, strings.Join(lines, "\n  "))
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

// command returns a command with the environment of this process and the given workspace, because a build must not
// depend on the folder in which it was started. A workspace allows no -mod and no -modfile in GOFLAGS.
func (g *Go) command(ctx context.Context, dir, workspace, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"GOWORK=" + workspace, "PATH=" + filepath.Dir(g.path) + string(os.PathListSeparator) + os.Getenv("PATH"), "LC_ALL=C"}
	for _, kv := range os.Environ() {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "GOWORK", "PATH", "LC_ALL", "GOOS", "GOARCH":
		case "GOFLAGS":
			flags := slices.DeleteFunc(strings.Fields(value), func(f string) bool {
				f = strings.TrimLeft(f, "-")
				return strings.HasPrefix(f, "mod=") || strings.HasPrefix(f, "modfile=")
			})
			cmd.Env = append(cmd.Env, "GOFLAGS="+strings.Join(flags, " "))
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	return cmd
}
