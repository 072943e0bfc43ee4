// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package robot has the types of robots.
//
// +groupName=factory.example.com
// +versionName=v1
package robot

// Robot is a robot.
type Robot struct {
	// +kube-granular:permission=specification
	Spec Spec `json:"spec"`
}

// Spec is what a robot should do.
type Spec struct {
	// +kube-granular:permission=factory.example.com/movement
	Speed int `json:"speed"`
}
