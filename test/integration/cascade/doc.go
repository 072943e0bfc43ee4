// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cascade checks that upstream's own controllers can act for the author of an object.
// The replica sets and pods of a deployment are created with authority that the deployment's
// author delegated. The controllers have no rights of their own to create them.
//
// The package needs the patches of the folder controllers. Leave it out together with them.
//
// A policy for deployments makes the author of a deployment delegate authority to the
// deployment controller. A policy for replica sets makes this controller delegate further to
// the replica set controller. The server stamps each object with the delegation, and the
// controller that works on the object selects that delegation.
package cascade
