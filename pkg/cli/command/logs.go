// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/roles"
)

// logForms is the help about the logs that commands read.
const logForms = `A log has one event on each line, as the server writes it, or is an EventList, an array, or
indented JSON. Records of CloudWatch Logs, Azure Monitor, Google Cloud Logging (jsonPayload), Fluentd
and Fluent Bit are unwrapped. If a line can't be read, a warning says why, the result is still
printed, and the command fails in the end.`

// auditLogs are the flags and arguments for audit logs.
type auditLogs struct {
	files    []string
	subjects []string
	since    string
	// forbidden also learns refused requests.
	forbidden bool
	// each and subjectOf are for learn.Options, if they are set.
	each      func(context.Context, *learn.Demand)
	subjectOf func(string, []string) (rbacv1.Subject, bool)
	// unread is the number of lines, or of other values, that could not be read.
	unread int
}

// complete returns an error if a part of the logs could not be read. The result is printed before,
// since what was read is still true.
func (l *auditLogs) complete() error {
	if l.unread > 0 {
		return fmt.Errorf("the result is not complete: %d lines could not be read", l.unread)
	}
	return nil
}

func (l *auditLogs) addSince(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&l.since, "since", "", what+
		"only requests received at or after this time, such as 2026-11-23T08:00:00Z, or this long ago, such as 24h")
}

// learn reads the logs, and returns a learner with the permissions that each subject used.
func (l *auditLogs) learn(cmd *cobra.Command, s *options) (*learn.Learner, error) {
	var options learn.Options
	var err error
	if options.Since, err = auditlog.ParseTime(l.since, time.Now()); err != nil {
		return nil, fmt.Errorf("--since: %w", err)
	}
	options.Refused, options.Each, options.SubjectOf = l.forbidden, l.each, l.subjectOf
	if len(l.subjects) > 0 {
		if options.SubjectOf, err = subjectFilter(l.subjects); err != nil {
			return nil, err
		}
	}
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	if err := c.Recognize(); err != nil && !errors.Is(err, kinds.ErrNoPermissions) {
		printing.Fprintf(s.streams.ErrOut, "warning: whether the server authorizes single fields is not known: %v\n", err)
	}
	learner := learn.New(c, options)
	progress := output.NewProgress(s.terminal(), "reading logs", l.size())
	defer progress.Clear()
	if err := l.read(cmd.Context(), s, learner, progress); err != nil {
		return nil, err
	}
	progress.Clear()
	if learner.Events == 0 {
		return nil, fmt.Errorf("%s: the logs have no event of a completed request; the server writes events with --audit-log-path and --audit-policy-file", strings.Join(l.files, ", "))
	}
	if learner.Learned == 0 && l.since != "" && len(l.subjects) == 0 {
		return nil, fmt.Errorf("--since %s: none of the %d requests in the logs was received since then", l.since, learner.Events)
	}
	if learner.Reads == 0 {
		printing.Fprintf(s.streams.ErrOut, "warning: the logs have no get, list or watch, so whether these are used can't be judged\n")
	}
	if learner.Writes > 0 && learner.Shown == 0 {
		printing.Fprintf(s.streams.ErrOut, "warning: the logs have no request bodies, so which fields were changed can't be judged; use the level RequestResponse\n")
	}
	return learner, nil
}

// maxWarnings is the maximum number of unreadable lines for which a warning is printed.
const maxWarnings = 10

func (l *auditLogs) read(ctx context.Context, s *options, learner *learn.Learner, progress *output.Progress) error {
	warned := 0
	reader := auditlog.Reader{
		Use: func(line []byte) error { return learner.Use(ctx, line) },
		Warn: func(err error) {
			if warned++; warned <= maxWarnings {
				progress.Clear()
				printing.Fprintf(s.streams.ErrOut, "warning: %s\n", err)
			}
		},
	}
	for _, name := range l.files {
		input, label := s.streams.In, "standard input"
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer file.Close()
			input, label = file, name
		}
		unread, err := reader.Read(label, progress.Reader(input))
		l.unread += unread
		if err != nil {
			return err
		}
	}
	return nil
}

// size returns the total size of the logs in bytes, or 0 if a log is not a regular file.
func (l *auditLogs) size() int64 {
	var total int64
	for _, name := range l.files {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += info.Size()
	}
	return total
}

// subjectFilter returns a function that maps a user name and groups to the first of the given
// subjects that includes this user. The function returns false if no subject does. Each text has
// the form of --subject, such as user:jane.
func subjectFilter(texts []string) (func(string, []string) (rbacv1.Subject, bool), error) {
	subjects, err := roles.ParseSubjects("--subject", texts)
	if err != nil {
		return nil, err
	}
	return func(name string, groups []string) (rbacv1.Subject, bool) {
		index := slices.IndexFunc(subjects, func(s rbacv1.Subject) bool { return access.IsSubject(s, s.Namespace, name, groups) })
		if index < 0 {
			return rbacv1.Subject{}, false
		}
		return subjects[index], true
	}, nil
}

// rbac reads the roles and bindings of the cluster.
func (s *options) rbac(ctx context.Context) (*access.RBAC, error) {
	client, err := connect(s.flags.ToRESTConfig, rbacclient.NewForConfig)
	if err != nil {
		return nil, err
	}
	return access.ReadRBAC(ctx, client, "")
}

// errNoLog is the error of a command that needs an audit log and got none.
var errNoLog = errors.New("the audit logs are missing; name the files, or - for standard input")
