// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// ErrNoPermissions means that a server does not authorize single fields.
var ErrNoPermissions = errors.New("the server publishes no permissions (x-kubernetes-permission-verb) in its OpenAPI document, " +
	"or its feature gate GranularAuthorization is off, so it does not authorize single fields; " +
	"use the context of a kube-granular server (--context)")

// Recognize returns ErrNoPermissions if the server does not authorize single fields: it has no patches,
// or its feature gate is off. It returns another error if that is not known. All commands recognize the
// server by it.
func (c *Cluster) Recognize() error {
	// Every server serves this group, and its OpenAPI document is small.
	_, err := c.document(authorizationv1.SchemeGroupVersion)
	return err
}

const (
	flagsPath = "/flagz"
	flagsType = "application/json;as=Flagz;v=v1beta1;g=config.k8s.io"
	// flagsPatience is how long the plugin waits for the flags.
	flagsPatience = 5 * time.Second
)

var (
	gatePattern     = regexp.MustCompile(`\bGranularAuthorization=(\w+)`)
	allAlphaPattern = regexp.MustCompile(`\bAllAlpha=true\b`)
)

// gateIsOff reports whether the feature gate of the server is off. A server with the gate off publishes
// permissions too, so only its flags tell. They are for callers that may read /flagz. For others, the
// gate counts as on.
func (c *Cluster) gateIsOff() bool {
	if c.gateKnown {
		return c.gateOff
	}
	c.gateKnown = true
	client := c.discovery.RESTClient()
	if client == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), flagsPatience)
	defer cancel()
	data, err := client.Get().AbsPath(flagsPath).SetHeader("Accept", flagsType).Do(ctx).Raw()
	c.gateOff = err == nil && saysOff(data)
	return c.gateOff
}

// saysOff reports whether the flags of a server turn the gate off. Without a flag, it is off.
func saysOff(data []byte) bool {
	var server struct {
		Kind  string            `json:"kind"`
		Flags map[string]string `json:"flags"`
	}
	if json.Unmarshal(data, &server) != nil || server.Kind != "Flagz" {
		return false
	}
	gates, ok := server.Flags["feature-gates"]
	if !ok {
		return false
	}
	if set := gatePattern.FindAllStringSubmatch(gates, -1); len(set) > 0 {
		return set[len(set)-1][1] == "false" // the last one counts
	}
	return !allAlphaPattern.MatchString(gates)
}
