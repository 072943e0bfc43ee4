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

// MaxRefusal is the maximum size of the error that refuses a write, in bytes of JSON. Such errors
// are sent to the caller, logged and audited, so a caller must not be able to make them large.
const MaxRefusal = 4096

// Limits has the maximum lengths of names and of paths in a message, because the caller can choose
// them. The lengths are in bytes, before the values are quoted.
type Limits struct {
	Name, Path int
	// Causes is set if the cause of the error has a message too, which repeats what is missing.
	Causes bool
}

// Usual has the limits that are tried first. Narrow has the limits for an error that would be
// larger than MaxRefusal with the usual ones.
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

// Head returns a text of at most limit bytes as it is. It cuts a longer text to at most limit
// bytes, not inside a character, and appends Ellipsis.
func Head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + Ellipsis
}

// Logged returns err as it is to be logged: if the text has more than MaxRefusal bytes, the
// result is an error with the shortened text.
func Logged(err error) error {
	if text := err.Error(); len(text) > MaxRefusal {
		return errors.New(Head(text, MaxRefusal))
	}
	return err
}
