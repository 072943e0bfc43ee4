// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/cli/check"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/pkg/cli/roletest/draft"
)

// writeTest writes a test of the roles into a new file. It never overwrites one, because a person
// completes the test.
func writeTest(
	ctx context.Context, path string, grants []roles.Grant, name string, subject rbacv1.Subject, changed *changeRequests,
) error {
	d := draft.Draft{Grants: grants, Name: name, Subject: subject, Requests: changed.requests, Reads: changed.reads}
	seen := map[string]bool{}
	for i := range changed.requests {
		request := changed.requests[i]
		request.Subresource = ""
		if text := request.String(); seen[text] {
			continue
		}
		seen[request.String()] = true
		stored, err := changed.rehearser.Stored(ctx, request)
		if err != nil {
			return err
		}
		if stored != nil {
			d.Objects = append(d.Objects, stored)
		}
	}
	return newFile(path, d.Write)
}

// newFile writes a new file. It overwrites none, and removes the new one if write fails.
func newFile(path string, write func(io.Writer) error) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(out), out.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// writeLearnedTest writes a test of learned roles: it reads the logs again, and judges each request by the
// roles.
func (s *options) writeLearnedTest(cmd *cobra.Command, path string, l *auditLogs, all []learnedRoles) error {
	learned := check.NewRoles("")
	for i := range all {
		for j := range all[i].grants {
			for _, o := range all[i].grants[j].Objects(all[i].name, all[i].subject.Subject) {
				text, err := json.Marshal(o)
				if err != nil {
					return err
				}
				if err := learned.Add("learned", text); err != nil {
					return err
				}
			}
		}
	}
	if err := learned.Complete(); err != nil {
		return err
	}
	recorder := draft.NewRecorder(learned)
	again := &auditLogs{files: l.files, subjects: l.subjects, since: l.since, each: recorder.Judge}
	// The first reading printed the warnings.
	quiet := *s
	quiet.streams.ErrOut = io.Discard
	if _, err := again.learn(cmd, &quiet); err != nil {
		return err
	}
	return newFile(path, recorder.Write)
}
