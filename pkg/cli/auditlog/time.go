// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"fmt"
	"time"
)

// ParseTime parses a time in RFC 3339, or a duration such as 2h, which means that long before now.
// It returns the zero time for an empty string.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%q is neither a time such as 2026-11-23T08:00:00Z nor a duration such as 2h", text)
	}
	return t, nil
}
