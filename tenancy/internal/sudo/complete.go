// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/kubectl"
)

// completeCommand is the command by which shells ask for completions, as cobra calls it.
const completeCommand = "__complete"

// noFiles is the directive of cobra after the completions: the shell adds no names of files.
const noFiles = ":4\n"

// ownFlags are the flags of kubectl sudo itself.
var ownFlags = []string{"--help", "--list", "--namespace", "--output", "--reason", "--shell", "--version"}

// complete prints the completions of the last of the arguments. The flags of kubectl sudo are completed
// here, and the command that it runs by kubectl, with the rights that the caller has without sudo.
func complete(ctx context.Context, path string, args []string, out io.Writer) error {
	k := kubectl.Kubectl{Path: path}
	namespace := []string{}
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if joined || !takesValue(name) && !slices.Contains([]string{"--reason", "--shell", "-o", "--output"}, name) {
			if takesValue(name) {
				namespace = append(namespace, longName(name)+"="+value)
			}
			continue
		}
		if len(args) == 1 {
			return words(out, args[0], completeValue(ctx, k, name))
		}
		if value = args[0]; takesValue(name) {
			namespace = append(namespace, longName(name)+"="+value)
		}
		args = args[1:]
	}
	if len(args) == 1 && strings.HasPrefix(args[0], "-") {
		flags := slices.Clone(ownFlags)
		for _, name := range connection {
			flags = append(flags, "--"+name)
		}
		return words(out, args[0], flags)
	}
	if len(args) > 1 {
		if base := filepath.Base(args[0]); base == "kubectl" || base == "k" {
			args = args[1:]
		}
	}
	// Where the global flags of kubectl stand does not matter to it.
	cmd := exec.CommandContext(ctx, path, append(append([]string{completeCommand}, namespace...), args...)...)
	cmd.Stdout = out
	return cmd.Run()
}

// completeValue returns the values that a flag can have.
func completeValue(ctx context.Context, k kubectl.Kubectl, flag string) []string {
	switch flag {
	case "-o", "--output":
		return []string{"wide"}
	case "--shell":
		return []string{"bash", "zsh", "fish"}
	case "-n", "--namespace":
		text, err := k.Output(ctx, "get", "lnamespaces.tenancy.kube-granular.dev", "--output", "jsonpath={.items[*].metadata.name}")
		if err != nil {
			return nil
		}
		return strings.Fields(text)
	}
	return nil
}

// words prints the completions that begin with what is typed.
func words(out io.Writer, begun string, all []string) error {
	for _, word := range all {
		if strings.HasPrefix(word, begun) {
			if err := printing.Fprintf(out, "%s\n", word); err != nil {
				return err
			}
		}
	}
	return printing.Fprintf(out, "%s", printing.Escaped(noFiles))
}
