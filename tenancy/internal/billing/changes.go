// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"strconv"
	"strings"
	"time"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// change is a change of who pays, as the admission policy lnamespace-billing recorded it.
type change struct {
	// generation is the metadata.generation of the LNamespace after the change.
	generation int64
	// ended is the time of the change. It is zero if the policy does not know it.
	ended time.Time
	// replaced is who paid until then.
	replaced payer
}

// changes returns the recorded changes of the LNamespace that status.billing does not contain yet, in
// order. It ignores what the policy can't have written.
func changes(t *v1alpha1.LNamespace, recorded int64) []change {
	var all []change
	for line := range strings.SplitSeq(t.Annotations[names.BillingChanges], "\n") {
		c, ok := parse(line)
		if ok && c.generation > recorded && c.generation <= t.Generation {
			all = append(all, c)
			recorded = c.generation
		}
	}
	return all
}

// parse parses a line of the annotation. config/policy/billing.yaml describes the format.
func parse(line string) (c change, ok bool) {
	generation, rest, _ := strings.Cut(line, " ")
	ended, rest, _ := strings.Cut(rest, " ")
	var err error
	if c.generation, err = strconv.ParseInt(generation, 10, 64); err != nil {
		return c, false
	}
	if ended != "-" {
		if c.ended, err = time.Parse(time.RFC3339, ended); err != nil {
			return c, false
		}
	}
	account, rest, ok := unquote(rest)
	if !ok {
		return c, false
	}
	labels := map[string]v1alpha1.BillingLabel{}
	for rest != "" {
		key, value := "", ""
		if key, rest, ok = unquote(strings.TrimPrefix(rest, " ")); !ok || !strings.HasPrefix(rest, "=") {
			return c, false
		}
		if value, rest, ok = unquote(rest[1:]); !ok {
			return c, false
		}
		labels[key] = v1alpha1.BillingLabel(value)
	}
	c.replaced = payer{account, billable(labels)}
	return c, true
}

// unquote returns the text of the quoted string at the beginning of line, and what comes after it.
func unquote(line string) (text, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return "", "", false
	}
	text, err = strconv.Unquote(quoted)
	return text, line[len(quoted):], err == nil
}
