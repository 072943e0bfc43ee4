// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package change

const raceDetector = false
