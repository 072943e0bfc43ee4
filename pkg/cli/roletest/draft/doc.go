// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package draft writes a test of a role: from the requests that the role was made for, or from those in audit
// logs.
//
//	roles, their subject, the requests and reads, the stored objects ──► Draft ──► a RoleTest as YAML
//	roles, audit logs ──► package learn ──► Recorder ──► a RoleTest as YAML
//
// The invariant: the values of Secrets are left out.
//
// The package sends no requests. A person completes the draft: with definitions, and with what must be
// refused.
package draft
