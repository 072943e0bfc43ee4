// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitrepo runs git in temporary repositories.
//
// There git does not use the configuration, attributes or environment of the machine, so
// that a diff has the same bytes for everybody. The package may read one other repository:
// that of the project, for other revisions of the series.
package gitrepo
