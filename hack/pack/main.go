// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// options are the command-line options.
type options struct {
	version, url, out, ldflags, tenancy string
	platforms, programs                 []string
}

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "pack --version VERSION --url URL",
		Short:         "Make the archives of the programs, and krew manifests of the kubectl plugins",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return pack(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.version, "version", "", "the version of the programs, such as v0.1.0")
	cmd.Flags().StringVar(&o.url, "url", "", "base URL of the archives: https://example.com/releases/v0.1.0")
	cmd.Flags().StringVar(&o.out, "out", "bin/plugin", "the folder to write to")
	cmd.Flags().StringVar(&o.tenancy, "tenancy-ldflags", "", "further flags of the linker, for the programs of the module tenancy")
	cmd.Flags().StringVar(&o.ldflags, "ldflags", "", "further flags of the linker, for the programs that are built with Kubernetes")
	cmd.Flags().StringSliceVar(&o.platforms, "platform", platforms, "the platforms to make archives for")
	cmd.Flags().StringSliceVar(&o.programs, "program", names(), "the programs to make archives of")
	return cmd
}

// pack builds each program for each platform, and writes archives, checksums and manifests.
func pack(ctx context.Context, o options) error {
	if o.version == "" || o.url == "" {
		return errors.New("--version and --url are needed: krew's manifest names both")
	}
	work, err := os.MkdirTemp("", "kube-granular-pack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	var sums []string
	for _, name := range o.programs {
		i := slices.IndexFunc(programs, func(p program) bool { return p.name == name })
		if i < 0 {
			return fmt.Errorf("--program: there is no %q, use some of %s", name, strings.Join(names(), ", "))
		}
		more, err := packProgram(ctx, o, work, programs[i])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sums = append(sums, more...)
	}
	return os.WriteFile(filepath.Join(o.out, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o644)
}

// packProgram makes the archives of a program, and its krew manifest if it has one. It returns lines of checksums.
func packProgram(ctx context.Context, o options, work string, p program) ([]string, error) {
	var pages []string
	if p.manPages {
		folder := filepath.Join(work, "man")
		if err := run(ctx, nil, "go", "run", "./hack/reference", "--man", folder); err != nil {
			return nil, fmt.Errorf("write the man pages: %w", err)
		}
		var err error
		if pages, err = filepath.Glob(filepath.Join(folder, "*.1")); err != nil {
			return nil, err
		}
	}
	manifest := newManifest(o.version, p)
	var sums []string
	for _, platform := range o.platforms {
		if !slices.Contains(platforms, platform) {
			return nil, fmt.Errorf("%s is not supported, use some of %s", platform, strings.Join(platforms, ", "))
		}
		if p.linuxOnly && !strings.HasPrefix(platform, "linux/") {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s for %s\n", p.name, platform)
		name, err := archive(ctx, o, work, pages, p, platform)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", platform, err)
		}
		data, err := os.ReadFile(filepath.Join(o.out, name))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		sums = append(sums, hex.EncodeToString(sum[:])+"  "+name+"\n")
		manifest.add(p, platform, strings.TrimSuffix(o.url, "/")+"/"+name, hex.EncodeToString(sum[:]))
	}
	if p.krew.name == "" || len(sums) == 0 {
		return sums, nil
	}
	text, err := manifest.marshal()
	if err != nil {
		return nil, err
	}
	if err := checkManifest(text); err != nil {
		return nil, fmt.Errorf("the manifest: %w", err)
	}
	return sums, os.WriteFile(filepath.Join(o.out, p.krew.name+".yaml"), text, 0o644)
}

// archive makes the archive of a program for a platform, and returns its name.
func archive(ctx context.Context, o options, work string, pages []string, p program, platform string) (string, error) {
	system, processor, _ := strings.Cut(platform, "/")
	binary := filepath.Join(work, strings.Join([]string{p.name, system, processor}, "-"))
	env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + processor}
	ldflags := o.ldflags
	if p.module != "" {
		ldflags = o.tenancy
		env = append(env, "GOWORK=off")
	}
	ldflags = strings.TrimSpace("-s -w " + ldflags)
	if err := run(ctx, env, "go", "-C", cmp.Or(p.module, "."), "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", binary,
		"./cmd/"+p.name); err != nil {
		return "", err
	}
	files := []file{{"LICENSE", "LICENSE", 0o644}, {p.executable(system), binary, 0o755}}
	if p.completion != "" && system != "windows" {
		files = append(files, file{p.completion, filepath.Join(p.module, "cmd", p.name, p.completion), 0o755})
	}
	for _, page := range pages {
		files = append(files, file{"man/" + filepath.Base(page), page, 0o644})
	}
	name := fmt.Sprintf("%s-%s-%s-%s", p.name, o.version, system, processor)
	if system == "windows" {
		return name + ".zip", writeArchive(filepath.Join(o.out, name+".zip"), files, writeZip)
	}
	return name + ".tar.gz", writeArchive(filepath.Join(o.out, name+".tar.gz"), files, writeTarGz)
}

func run(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}
