// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kube-granular.dev/api/printing"
)

// Mistake is one mistake in a file.
type Mistake struct {
	File string
	// Line is 0 if the mistake is in no line.
	Line int
	// Field is the path of the field, such as cases[2].as.user, or empty.
	Field   string
	Message string
}

// Error formats the mistake like a compiler error.
func (m *Mistake) Error() string {
	text := m.File
	if m.Line > 0 {
		text = fmt.Sprintf("%s:%d", text, m.Line)
	}
	if m.Field != "" {
		text += ": " + m.Field
	}
	return text + ": " + m.Message
}

// mistakes collects the mistakes in a test and in the files that it names.
type mistakes []*Mistake

func (all *mistakes) add(file string, line int, field, format string, args ...any) {
	*all = append(*all, &Mistake{file, line, field, string(printing.Sprintf(format, args...))})
}

// err returns all mistakes as one error, or nil.
func (all mistakes) err() error {
	slices.SortStableFunc(all, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	var errs []error
	for i, m := range all {
		if i == maxMistakes {
			errs = append(errs, fmt.Errorf("%d mistakes more", len(all)-i))
			break
		}
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}
