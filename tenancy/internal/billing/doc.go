// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package billing writes to a table for which time who pays for a tenant.
//
// The outbox is the status of the LNamespace. A change is one write of the status: the
// open period ends, and the next begins at the same instant. What is pending is put into
// the table, which knows periods by their identity, and then taken out of the status. So
// the controller may end between any two steps, the table may be away for as long as it
// likes, and nothing is lost or doubled. A deleted LNamespace stays, without rights, until
// the table has its last period.
package billing
