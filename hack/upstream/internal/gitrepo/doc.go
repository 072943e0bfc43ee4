// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitrepo runs git in throw-away repositories.
//
// No configuration, attributes or environment of the machine reaches git there,
// so that a diff is the same bytes for everybody. It may read one repository that
// is not its own: the project's, to look at other revisions of the series.
package gitrepo
