// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitrepo runs git in temporary repositories.
//
// In these repositories, git does not use the configuration, attributes or environment of the
// machine, so that a diff has the same bytes for everybody. The package also reads the project's
// own repository, but only for other revisions of the series.
package gitrepo
