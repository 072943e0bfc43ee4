// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cascade holds that upstream's own controllers can work on behalf of whoever made
// the object that they work on: a deployment's replica sets and pods are made by authority
// that its author delegated, and not by the rights of controllers, which have none for it.
//
// It needs the folder controllers of the series of patches, and is to be left out with it.
//
// The model: a policy for deployments delegates authority of whoever writes one to the
// deployment controller, a policy for replica sets what this one was delegated to the replica
// set controller. The server stamps each object with the delegation, and the controller of its
// kind selects what the stamp names.
package cascade
