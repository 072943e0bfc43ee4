// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package billing records in a table which account pays for a tenant in which period.
//
// A period is a time in which one account pays. The status of the LNamespace serves as an outbox
// for the table. If the account changes, one write of the status ends the open period, and begins
// the next one at the same time. Periods that have ended are pending: they are written to the
// table, and then removed from the status. Writing a period to the table twice has no effect. So
// no period is lost or duplicated if the controller stops between two steps or the table is
// unavailable. A deleted LNamespace remains, without permissions, until the table has its last
// period.
package billing
