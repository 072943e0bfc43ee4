// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package billing records in a table which account pays for a tenant in which period.
//
// A period is a time in which one account pays, with the same labels. The status of the LNamespace
// serves as an outbox for the table. If the account or the labels change, one write of the status
// ends the open period, and begins the next period at the same time. Periods that have ended are
// pending: they are written to the table, and then removed from the status. To write a period
// twice has the same effect as to write it once. So no period is lost or duplicated if the
// controller stops between two steps or the table is unavailable. A deleted LNamespace remains,
// without permissions, until its last period is in the table.
//
// An admission policy records each change in an annotation of the LNamespace, in the request that makes
// the change. So a period begins at the change, and not when the controller sees it, and the
// controller sees each of several changes.
package billing
