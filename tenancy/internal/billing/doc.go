// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package billing records in a table which account pays for a tenant in which period.
//
// The outbox is the status of the LNamespace. A change is one write of the status: the open
// period ends, and the next one begins at the same time. Pending periods are written to the
// table, which is idempotent for the identity of a period, and then removed from the status. So
// no period is lost or duplicated if the controller stops between two steps or the table is
// unavailable. A deleted LNamespace remains, without permissions, until the table has its last
// period.
package billing
