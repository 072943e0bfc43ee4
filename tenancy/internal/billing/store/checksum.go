// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Checksum returns the checksum of the periods of earlier, which is their checksum, and of one more
// period. The checksum of no periods is empty. Before the checksum stands the sequence number of the
// first of the periods.
func Checksum(earlier string, p Period) string {
	first, _, ok := strings.Cut(earlier, "-")
	if !ok {
		first = strconv.FormatInt(p.Sequence, 10)
	}
	// Go prints a map with its keys sorted.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%q %d %q %q %q %d %d", earlier, p.TenantUID, p.Sequence, p.Tenant, Storable(p.Account),
		p.Labels, p.Start.Unix(), p.End.Unix()))
	return first + "-" + hex.EncodeToString(sum[:])
}

// Storable returns an account as a table stores it. PostgreSQL refuses NUL in a text. The schema of
// LNamespaces refuses it too, but not in an object that was stored before the schema did.
func Storable(account string) string { return strings.ReplaceAll(account, "\x00", "\uFFFD") }
