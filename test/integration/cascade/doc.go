// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cascade holds that upstream's own controllers can work on behalf of whoever made
// the object that they work on: a deployment's replica sets and pods are made by authority
// that its author delegated, and not by the rights of controllers, which have none for it.
//
// It needs the folder controllers of the series of patches, and is to be left out with it.
//
// The model: each object names the delegation that the controller of its kind acts by, in an
// annotation of the test's own, as upstream's deployment controller copies annotations to
// replica sets. That anybody who may write the object could name another's delegation there is
// not part of what is tested; a server that writes the reference itself would close it.
package cascade
