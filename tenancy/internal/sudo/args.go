// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Arguments are the arguments of kubectl sudo.
type Arguments struct {
	// List is true if kubectl sudo must only list the tenants in which the caller may use sudo. If Wide
	// is true, nothing in the list is shortened.
	List, Wide bool
	// Help is true if kubectl sudo must only print how it is used.
	Help bool
	// Version is true if kubectl sudo must only print its version.
	Version bool
	// Shell, if not empty, is the shell for which kubectl sudo must only print a function.
	Shell string
	// Reason is written to the audit log.
	Reason string
	// Command is the kubectl command.
	Command []string
	// Namespace is the value of the flag --namespace. Tenant is the name of the LNamespace in a
	// command such as edit lns NAME, and empty in other commands. Global are the flags that select
	// the cluster and the user, each in the form --NAME=VALUE.
	Namespace, Tenant string
	Global            []string
}

// connection are the names of the kubectl flags that select the cluster and the user.
var connection = []string{"kubeconfig", "context", "cluster", "user", "server", "token", "certificate-authority",
	"client-certificate", "client-key", "tls-server-name", "request-timeout"}

// errNoCommand is the error for arguments without a command.
var errNoCommand = errors.New("want the COMMAND of kubectl that sudo runs, or -l")

// Parse parses the arguments of kubectl sudo. Flags of kubectl sudo come before the kubectl
// command that it runs. This command can begin with the word kubectl, so that kubectl sudo !!
// works in shells that expand !! to the last command.
func Parse(args []string) (Arguments, error) {
	a := Arguments{}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		switch {
		case name == "-h" || name == "--help":
			return Arguments{Help: true}, nil
		case name == "--version":
			return Arguments{Version: true}, nil
		case name == "-l" || name == "--list":
			a.List = true
			continue
		case name == "--reason" || name == "--shell" || name == "-o" || name == "--output" || takesValue(name):
			if !joined {
				if len(args) == 0 {
					return a, fmt.Errorf("%s needs a value", name)
				}
				value, args = args[0], args[1:]
			}
		default:
			return a, fmt.Errorf("%s is not a flag of sudo; flags of the command must follow the command", name)
		}
		switch name {
		case "--reason":
			a.Reason = value
		case "--shell":
			a.Shell = value
		case "-o", "--output":
			if a.Wide = value == "wide"; !a.Wide {
				return a, fmt.Errorf("%s %s: the only format of kubectl sudo -l is wide; flags of a command must follow the command", name, value)
			}
		case "-n", "--namespace":
			a.Namespace = value
			a.Command = append(a.Command, "--namespace="+value)
		default:
			a.Global = append(a.Global, longName(name)+"="+value)
		}
	}
	if len(args) > 0 {
		if base := filepath.Base(args[0]); base == "kubectl" || base == "k" {
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0] == "sudo" { // kubectl sudo !! after a command that used kubectl sudo
		return a, errors.New("the command is already kubectl sudo")
	}
	if a.Wide && !a.List {
		return a, errors.New("-o needs -l; flags of a command must follow the command")
	}
	if a.Shell == "" && !a.List && len(args) == 0 {
		return a, errNoCommand
	}
	return a, a.read(args)
}

// read sets the fields Command, Namespace, Tenant and Global from args, the kubectl command to
// run. It does not look for flags after the argument --, because those are for a program in a
// container.
func (a *Arguments) read(args []string) error {
	var words []string
	before := slices.Clone(a.Global)
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			break
		}
		name, value, joined := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "-") {
			words = append(words, args[i])
			continue
		}
		if strings.HasPrefix(name, "-n") && !strings.HasPrefix(name, "--") && len(name) > 2 { // -nteam
			name, value, joined = "-n", strings.TrimPrefix(args[i], "-n"), true
		}
		if !takesValue(name) {
			continue
		}
		if !joined && i+1 < len(args) {
			i++
			value = args[i]
		}
		if name == "-n" || name == "--namespace" {
			a.Namespace = value
		} else {
			a.Global = append(a.Global, longName(name)+"="+value)
		}
	}
	if namesSubjects(words) {
		isUser := func(flag string) bool { return strings.HasPrefix(flag, "--user=") }
		if slices.ContainsFunc(before, isUser) {
			return errors.New("--user before this command would be one of its subjects; select your user with --context")
		}
		a.Global = slices.DeleteFunc(a.Global, isUser)
	}
	a.Tenant = lnamespace(words)
	a.Command = append(a.Command, args...)
	return nil
}

// namesSubjects reports whether the command is one whose flag --user adds a subject to a binding,
// such as create rolebinding. In other commands, --user selects the user for the connection. words
// are the arguments that are not flags: the position of flags does not matter to kubectl.
func namesSubjects(words []string) bool {
	has := func(word string) bool { return slices.Contains(words, word) }
	return has("create") && (has("rolebinding") || has("clusterrolebinding")) || has("set") && has("subject")
}

func takesValue(name string) bool {
	return name == "-n" || name == "--namespace" || name == "-s" || slices.Contains(connection, strings.TrimPrefix(name, "--")) &&
		strings.HasPrefix(name, "--")
}

func longName(name string) string {
	switch name {
	case "-s":
		return "--server"
	case "-n":
		return "--namespace"
	}
	return name
}

// lnamespace returns the name of the LNamespace in a command such as edit lns NAME. It returns an
// empty string if the command is not about an LNamespace.
func lnamespace(words []string) string {
	for i, word := range words {
		kind, name, joined := strings.Cut(word, "/")
		switch kind {
		case "lns", "lnamespace", "lnamespaces", "lnamespaces.tenancy.kube-granular.dev":
			if !joined && i+1 < len(words) {
				name = words[i+1]
			}
			if i > 0 {
				return name
			}
		}
	}
	return ""
}
