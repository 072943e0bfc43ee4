// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kube-granular.dev/pkg/cli/command"
	"kube-granular.dev/test/integration/harness"
)

// answersNo matches the comment above an example whose command must exit with 1, because the
// answer is no or because it finds mistakes.
var answersNo = regexp.MustCompile(`\(no\)|\(this one has mistakes\)`)

// endless matches the comment above an example that runs until somebody presses Ctrl-C.
var endless = regexp.MustCompile(`, until Ctrl-C$`)

// untilServed runs a command until it prints the address of a page, and then sends it the signal of Ctrl-C. The
// command must end without an error.
func untilServed(shell *exec.Cmd, line string) ([]byte, error) {
	shell.Args = []string{"bash", "-c", "exec " + line}
	var errs bytes.Buffer
	shell.Stderr = &errs
	stdout, err := shell.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := shell.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil && !strings.HasPrefix(address, "http://127.0.0.1:") {
		err = fmt.Errorf("it printed %q", address)
	}
	err = errors.Join(err, shell.Process.Signal(os.Interrupt), shell.Wait())
	return errs.Bytes(), err
}

// broken matches the plugin's output for its own errors, as opposed to an answer.
var broken = regexp.MustCompile(`(?m)^error:`)

// TestExamplesOfHelp runs, through kubectl, every command line that --help shows.
func TestExamplesOfHelp(t *testing.T) {
	harness.MustKubectl(t, on, "", "apply", "--server-side", "-n", "default", "-f", filepath.Join("testdata", "fixtures"))
	harness.MustKubectl(t, on, "", "apply", "--server-side", "-f", filepath.Join("testdata", "examples", "definition.yaml"))
	harness.WaitServed(t, on, "/apis/widgets.example/v1/widgets")
	ran := 0
	for _, cmd := range commands(command.New(genericiooptions.NewTestIOStreamsDiscard())) {
		if cmd.HasSubCommands() {
			continue
		}
		t.Run(cmd.Name(), func(t *testing.T) {
			if cmd.Example == "" {
				t.Fatal("--help shows no example")
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "examples"))); err != nil {
				t.Fatal(err)
			}
			comment := ""
			for _, line := range strings.Split(cmd.Example, "\n") {
				line = strings.TrimSpace(line)
				if strings.HasPrefix(line, "#") {
					comment = line
				}
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				shell := exec.CommandContext(t.Context(), "bash", "-c", line)
				shell.Dir, shell.Env = dir, environment(on.Kubeconfig("admin"), t.TempDir())
				run := shell.CombinedOutput
				if endless.MatchString(comment) {
					run = func() ([]byte, error) { return untilServed(shell, line) }
				}
				out, err := run()
				ran++
				if failed := err != nil; failed != answersNo.MatchString(comment) || broken.Match(out) {
					t.Errorf("%s\n$ %s\n%s%v", comment, line, out, err)
				}
			}
		})
	}
	if ran == 0 {
		t.Fatal("no example was run")
	}
}

// commands returns a command and all commands below it, without those that cobra adds.
func commands(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		if below.Name() != "help" && below.Name() != "completion" {
			out = append(out, commands(below)...)
		}
	}
	return out
}

// TestCommandsSayWhatTheyDo checks that each command has a short and a long description.
func TestCommandsSayWhatTheyDo(t *testing.T) {
	for _, cmd := range commands(command.New(genericiooptions.NewTestIOStreamsDiscard())) {
		if cmd.Short == "" || cmd.Long == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short %q, Long %q", cmd.CommandPath(), cmd.Short, cmd.Long)
		}
	}
}
