// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube-granular.dev/granular/change"
)

// MaxRefusal is the size of the largest refusal, in bytes of JSON. Refusals are sent, logged and
// audited, so their size must not depend on what a caller sends or names.
const MaxRefusal = 4096

// Limits limits the length of values in a message that a caller chose, in bytes before quoting.
type Limits struct {
	Name, Path int
	// Causes is set if the cause of the error repeats what is missing.
	Causes bool
}

// Usual has the limits that fit nearly every refusal. Narrow has the limits for all others.
var (
	Usual  = Limits{Name: 256, Path: change.MaxPathLength, Causes: true}
	Narrow = Limits{Name: 64, Path: 128}
)

// SizeOf returns the size of an error as JSON, in bytes.
func SizeOf(err *apierrors.StatusError) int {
	text, failed := json.Marshal(err.ErrStatus)
	if failed != nil {
		return 0
	}
	return len(text)
}

// Ellipsis ends a text that Head shortened.
const Ellipsis = "..."

// Head shortens a text to a limit. It does not cut inside a character.
func Head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + Ellipsis
}

// Logged returns err for the log, shortened if it is long.
func Logged(err error) error {
	if text := err.Error(); len(text) > MaxRefusal {
		return errors.New(Head(text, MaxRefusal))
	}
	return err
}
