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

// MaxRefusal is the size of the largest refusal of ours, in bytes of JSON. What a caller
// sends, and how it and its objects are named, makes none larger: refusals are sent,
// logged and audited.
const MaxRefusal = 4096

// Limits are how much of what a caller chose is shown, in bytes before it is quoted.
type Limits struct {
	Name, Path int
	// Causes says that the cause repeats what is missing.
	Causes bool
}

// Hardly any refusal needs the second.
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

// Ellipsis ends what Head shortened.
const Ellipsis = "..."

// Head returns the beginning of a text that is longer than a limit. It does not end
// inside a character.
func Head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + Ellipsis
}

// Logged returns what the log shows of an error.
func Logged(err error) error {
	if text := err.Error(); len(text) > MaxRefusal {
		return errors.New(Head(text, MaxRefusal))
	}
	return err
}
