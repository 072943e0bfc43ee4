// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/version"

	"kube-granular.dev/api/printing"
)

// builtVersion identifies a build. A build that the Makefile did not make has no version of kube-granular and no digest.
type builtVersion struct {
	// Granular is the version of kube-granular, and Kubernetes the one that it is made for.
	Granular   string `json:"granular"`
	Kubernetes string `json:"kubernetes"`
	// Sources is the digest of the sources (hack/version.sh digest). Two builds with one digest do the same.
	Sources string `json:"sources"`
	Go      string `json:"go"`
}

// splitVersion returns the parts of what hack/version.sh server prints.
func splitVersion(info apimachineryversion.Info) builtVersion {
	kubernetes, own, found := strings.Cut(info.GitVersion, "+granular.")
	out := builtVersion{Granular: "unknown", Kubernetes: kubernetes, Sources: "unknown", Go: info.GoVersion}
	if found {
		out.Granular, out.Sources = "v"+own, info.GitCommit
	}
	return out
}

func newVersionCommand() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of kube-granular and of Kubernetes",
		Long: `Print the version of kube-granular, the version of Kubernetes that it is made for, and the
digest of the sources. kubectl version prints the same for a server, as one gitVersion and a
gitCommit, and the metric kubernetes_build_info has them as labels.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			built, out := splitVersion(version.Get()), cmd.OutOrStdout()
			switch format {
			case "json":
				return printing.JSON(out, built)
			case "yaml":
				return printing.YAML(out, built)
			case "text":
				return printing.Fprintf(out, "kube-granular  %s\nKubernetes     %s\nsources        %s\nGo             %s\n",
					built.Granular, built.Kubernetes, built.Sources, built.Go)
			}
			return fmt.Errorf("there is no output format %q, only text, json and yaml", format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", format, "output format: text, json or yaml")
	return cmd
}
