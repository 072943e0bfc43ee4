// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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

// platforms are the supported platforms, as GOOS/GOARCH.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// options are the command-line options.
type options struct {
	version, url, out, ldflags string
	platforms                  []string
}

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "pack --version VERSION --url URL",
		Short:         "Make the archives and the krew manifest of the kubectl plugin",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return pack(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.version, "version", "", "the version of the plugin, such as v0.1.0")
	cmd.Flags().StringVar(&o.url, "url", "", "base URL of the archives: https://example.com/releases/v0.1.0")
	cmd.Flags().StringVar(&o.out, "out", "bin/plugin", "the folder to write to")
	cmd.Flags().StringVar(&o.ldflags, "ldflags", "", "further flags of the linker")
	cmd.Flags().StringSliceVar(&o.platforms, "platform", platforms, "the platforms to make archives for")
	return cmd
}

// pack builds each platform, and writes archives, checksums and the manifest.
func pack(ctx context.Context, o options) error {
	if o.version == "" || o.url == "" {
		return errors.New("--version and --url are needed: krew's manifest names both")
	}
	work, err := os.MkdirTemp("", "kubectl-granular-pack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	man := filepath.Join(work, "man")
	if err := run(ctx, nil, "go", "run", "./hack/reference", "--man", man); err != nil {
		return fmt.Errorf("write the man pages: %w", err)
	}
	manifest := newManifest(o.version)
	var sums []string
	for i, platform := range o.platforms {
		fmt.Fprintf(os.Stderr, "%s (%d of %d)\n", platform, i+1, len(o.platforms))
		name, err := archive(ctx, o, work, man, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		data, err := os.ReadFile(filepath.Join(o.out, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		sums = append(sums, hex.EncodeToString(sum[:])+"  "+name+"\n")
		manifest.add(platform, strings.TrimSuffix(o.url, "/")+"/"+name, hex.EncodeToString(sum[:]))
	}
	text, err := manifest.marshal()
	if err != nil {
		return err
	}
	if err := checkManifest(text); err != nil {
		return fmt.Errorf("the manifest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(o.out, "granular.yaml"), text, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o644)
}

// archive makes the archive for a platform, and returns its name.
func archive(ctx context.Context, o options, work, man, platform string) (string, error) {
	if !slices.Contains(platforms, platform) {
		return "", fmt.Errorf("the platform is not supported, use one of %s", strings.Join(platforms, ", "))
	}
	system, processor, _ := strings.Cut(platform, "/")
	binary := filepath.Join(work, system+"-"+processor)
	env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + processor}
	if err := run(ctx, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", strings.TrimSpace("-s -w "+o.ldflags), "-o", binary, "./cmd/kubectl-granular"); err != nil {
		return "", err
	}
	files := []file{{"LICENSE", "LICENSE", 0o644}, {executable(system), binary, 0o755}}
	if system != "windows" {
		files = append(files, file{"kubectl_complete-granular", "cmd/kubectl-granular/kubectl_complete-granular", 0o755})
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil {
		return "", err
	}
	for _, page := range pages {
		files = append(files, file{"man/" + filepath.Base(page), page, 0o644})
	}
	name := fmt.Sprintf("kubectl-granular-%s-%s-%s", o.version, system, processor)
	if system == "windows" {
		return name + ".zip", writeArchive(filepath.Join(o.out, name+".zip"), files, writeZip)
	}
	return name + ".tar.gz", writeArchive(filepath.Join(o.out, name+".tar.gz"), files, writeTarGz)
}

// executable returns the name of the plugin's binary on an operating system.
func executable(system string) string {
	if system == "windows" {
		return "kubectl-granular.exe"
	}
	return "kubectl-granular"
}

func run(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}
