// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRead holds which lines Use receives, which lines cause a warning, and which errors end
// reading.
func TestRead(t *testing.T) {
	stop := errors.New("stop")
	for name, tc := range map[string]struct {
		log      string
		used     string
		warnings string
		unread   int
		err      error
	}{
		"nothing":           {"", "", "", 0, nil},
		"lines":             {"a\nb\n", "a b", "", 0, nil},
		"a last line whole": {"a\nb", "a b", "", 0, nil},
		"empty lines":       {"\n\n a \n\n", "a", "", 0, nil},
		"no event": {"a\nbad\nb\n", "a b", "log: line 2: it is not an event of audit.k8s.io/v1",
			1, nil},
		"an unfinished end":    {"a\nbad", "a", "log: the last line is incomplete", 0, nil},
		"an error of the user": {"a\nstop\nb\n", "a", "", 0, stop},
		"too long": {"a\n" + strings.Repeat("x", MaxLine+1) + "\nb\n", "a b",
			"log: line 2: the line is longer than 16 MiB", 1, nil},
	} {
		var used, warnings []string
		r := Reader{
			Use: func(line []byte) error {
				switch text := string(line); text {
				case "bad":
					return fmt.Errorf("%w", ErrNotAnEvent)
				case "stop":
					return stop
				default:
					used = append(used, text)
				}
				return nil
			},
			Warn: func(err error) { warnings = append(warnings, err.Error()) },
		}
		unread, err := r.Read("log", strings.NewReader(tc.log))
		if strings.Join(used, " ") != tc.used || strings.Join(warnings, "; ") != tc.warnings || unread != tc.unread || !errors.Is(err, tc.err) {
			t.Errorf("%s: used %q, warnings %q, unread %d, %v", name, used, warnings, unread, err)
		}
	}
}

// TestMoment holds which texts ParseTime accepts as times.
func TestMoment(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "2h": now.Add(-2 * time.Hour), "2026-11-22T00:00:00Z": time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := ParseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-2h", "2"} {
		if _, err := ParseTime(text, now); err == nil {
			t.Errorf("%q is a time", text)
		}
	}
}
