// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import "errors"

// ErrNo is returned by a command whose answer is no. The command has then printed its result
// already, so the process exits with 1 and without a message, as kubectl auth can-i does.
var ErrNo = errors.New("no")

// errNotProvable is returned by check if no request is refused, but some are not provable.
var errNotProvable = errors.New("not provable")

// The exit codes of check besides 0 and 1.
const (
	exitTrouble     = 2
	exitNotProvable = 3
)

// trouble is an error of a command whose exit code 1 means that the answer is no.
type trouble struct{ error }

func (t trouble) Unwrap() error { return t.error }

// ExitCode returns the exit code for an error of a command, and whether the error must be printed.
func ExitCode(err error) (code int, message bool) {
	var t trouble
	switch {
	case err == nil:
		return 0, false
	case errors.Is(err, ErrNo):
		return 1, false
	case errors.Is(err, errNotProvable):
		return exitNotProvable, false
	case errors.As(err, &t):
		return exitTrouble, true
	}
	return 1, true
}
