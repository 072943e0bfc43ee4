// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history records what clients see of three servers on one etcd while servers are killed and cut off, and
// lets porcupine, a checker of linearizability that others wrote, judge the record.
//
// What is recorded is a switch: an object that opens or closes something to a user.
//
//	switch             on                               an attempt
//	attribute          a protected label                the user sets the label
//	field permission   a closed field of Services       the user changes the field
//	delegation         a delegation to the user         the user writes under it
//	binding            an account under a delegation    the account writes with its own permissions
//
// One writer for each switch turns it on and off, each time through another server. One user for each switch and
// server attempts the same write again and again, and learns whether the switch is on there. So a history is a
// sequence of turns, each with the time of its request and of its answer, and a set of attempts.
//
// The rule, for each server by itself: there is an order of turns and attempts in which each attempt sees the last
// turn before it, the turns keep their order, and everything takes effect between its request and
//
//   - its answer, if the server itself answered it, or started after it was answered;
//   - the moment when the server has caught up, if another server answered it, or nobody did. The test waits for
//     that moment at the end of each round. Until then, a server may be late, but it never goes back.
//
// Left out are attempts without an answer, because nothing is learnt from them, and jumps of the clock: all programs of
// a machine have the same one.
//
// Invariant: what a history says was seen by a client. No server is asked what it knows.
package history
