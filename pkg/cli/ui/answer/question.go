// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/cli/roles"
)

// Asked is the question of a page whether a change would be allowed.
type Asked struct {
	// Text are objects as YAML or JSON, a kubectl command, or RESOURCE/NAME and a patch.
	Text      string `json:"text"`
	Namespace string `json:"namespace"`
	// As is whose rights count: user:jane, group:devs or serviceaccount:ci/robot. It is empty for the user of
	// the page. Groups are further groups of a user.
	As     string   `json:"as"`
	Groups []string `json:"groups"`
}

// Question is a change, in one of three forms.
type Question struct {
	// Command is a kubectl command.
	Command []string
	// Objects are YAML or JSON documents.
	Objects string
	// Target is RESOURCE/NAME, and Patch the patch of it.
	Target, Patch string

	Namespace string
	// User and Groups are whose rights count. User is empty for the user of the page.
	User   string
	Groups []string
}

// Member is the name of the user that stands for the members of a group.
const Member = "a-member"

// ParseQuestion reads a question. It returns an error for what a page may not ask.
func ParseQuestion(asked *Asked) (*Question, error) {
	out := &Question{Namespace: asked.Namespace, Groups: asked.Groups}
	if err := out.setUser(asked.As); err != nil {
		return nil, err
	}
	text := strings.TrimSpace(asked.Text)
	first, rest, _ := strings.Cut(text, " ")
	resource, name, isTarget := strings.Cut(first, "/")
	switch {
	case text == "":
		return nil, errors.New("the change is missing: give objects as YAML, RESOURCE/NAME and a patch, or a kubectl command")
	case first == "kubectl":
		args, err := fields(text)
		if err != nil {
			return nil, err
		}
		if err := permitted(args[1:]); err != nil {
			return nil, err
		}
		out.Command = args
	case isTarget && resource != "" && name != "" && !strings.ContainsAny(first, ":{\n\"") && strings.TrimSpace(rest) != "":
		out.Target, out.Patch = first, strings.TrimSpace(rest)
	default:
		out.Objects = text
	}
	return out, nil
}

// setUser sets whose rights count.
func (q *Question) setUser(text string) error {
	if text == "" {
		if len(q.Groups) > 0 {
			return errors.New("groups: the user is missing")
		}
		return nil
	}
	subject, err := roles.ParseSubject(text)
	if err != nil {
		return fmt.Errorf("as: %w", err)
	}
	switch subject.Kind {
	case rbacv1.GroupKind:
		q.User, q.Groups = Member, append(slices.Clone(q.Groups), subject.Name)
	case rbacv1.ServiceAccountKind:
		q.User = "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
	default:
		q.User = subject.Name
	}
	return nil
}

// permittedCommands are the commands of kubectl that a page may ask about. They read no files.
var permittedCommands = []string{"annotate", "autoscale", "cordon", "label", "patch", "rollout", "scale", "set", "taint", "uncordon"}

// permittedFlags are their flags that read and write no files, and choose neither a server nor a user.
var permittedFlags = []string{
	"--namespace", "--all", "--selector", "--overwrite", "--resource-version", "--patch", "--type", "--subresource", "--replicas",
	"--current-replicas", "--containers", "--env", "--limits", "--requests", "--min", "--max", "--cpu-percent", "--name", "--to-revision",
	"--field-manager", "--field-selector",
	"-n", "-l", "-p", "-c", "-e",
}

// permitted returns an error for a command that is more than a change of objects.
func permitted(args []string) error {
	if len(args) == 0 || !slices.Contains(permittedCommands, args[0]) {
		return fmt.Errorf("the command must be one of kubectl %s; objects can be given as YAML", strings.Join(permittedCommands, ", "))
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		flag, _, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(flag, "--") && len(flag) > 2 {
			flag = flag[:2]
		}
		if !slices.Contains(permittedFlags, flag) {
			return fmt.Errorf("%s is not for a page: give objects as YAML, and choose the user above", flag)
		}
	}
	return nil
}

// fields splits a command line at spaces. Single and double quotes and backslashes are those of a shell; all
// else that means something to a shell is only text, for no shell runs the command.
func fields(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	quote, begun := rune(0), false
	all := []rune(text)
	for i := 0; i < len(all); i++ {
		r := all[i]
		switch {
		case quote == '\'' && r != '\'':
			word.WriteRune(r)
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && i+1 < len(all) && (quote == 0 || strings.ContainsRune(`"\$`, all[i+1])):
			i++
			if all[i] != '\n' {
				word.WriteRune(all[i])
				begun = true
			}
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			if begun {
				out = append(out, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote of the command is not closed")
	}
	if begun {
		out = append(out, word.String())
	}
	return out, nil
}
