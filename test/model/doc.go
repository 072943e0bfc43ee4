// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model checks two small models in Promela with Spin: of the mirror of stored objects, and of the
// last check of a write under a delegation. Spin tries every order of the steps of all processes.
//
//	mirror.pml     what a server knows of an object agrees with the newest change that was reported
//	lastcheck.pml  after a delegation was deleted, nothing is stored under it, and nobody waits for ever
//
// Each model has variants, which put a fault back: those that the indexes had before there was one mirror,
// and those that the order of the steps of a deletion avoids. Spin must find each.
//
// Without spin or gcc, the test is skipped.
//
// Invariant: a model has the steps of the code that it names, in their order. Who changes that code
// changes the model.
package model
