// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/pkg/version"
)

// Version returns the version of the program and the digest of its sources, or "unknown" in a program that the
// Makefile did not build.
func Version() string {
	info := version.Get()
	return text(info.GitVersion, info.GitCommit)
}

// AddVersion adds the flag --version to a command, which prints Version.
func AddVersion(cmd *cobra.Command) {
	cmd.Version = Version()
	cmd.SetVersionTemplate("{{.Version}}\n")
}

// text returns the version and the digest on one line. client-go has a placeholder of git in place of a version that
// the linker did not set.
func text(number, digest string) string {
	if strings.Contains(number, "$Format") {
		return "unknown"
	}
	return number + ", sources " + digest
}
