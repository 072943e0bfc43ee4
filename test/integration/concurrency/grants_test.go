// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"fmt"
	"slices"
	"strings"
)

// covering maps each kind of change to the verbs that cover it.
var covering = map[string][]string{
	"label own":     {"granular:metadata", "granular:labels", "granular:label(own.example.com)"},
	"label other":   {"granular:metadata", "granular:labels", "granular:label(other.example.com)"},
	"annotation":    {"granular:metadata", "granular:annotations", "granular:annotation(own.example.com)"},
	"replicas":      {"granular:specification", "granular:replicas"},
	"history":       {"granular:specification"},
	"condition own": {"granular:status", "granular:conditions", "granular:condition(Own)"},
	"template label": {"granular:specification", "granular:podTemplate", "granular:podTemplateMetadata",
		"granular:podTemplateLabels", "granular:podTemplateLabel(own.example.com)"},
}

// users maps each user to its verbs on deployments, their subresources and widgets. A user with
// patch may change anything.
var users = map[string][]string{
	"one-label":     {"granular", "granular:label(own.example.com)"},
	"labels":        {"granular", "granular:labels"},
	"annotations":   {"granular", "granular:annotations"},
	"scaler":        {"granular", "granular:replicas"},
	"metadata":      {"granular", "granular:metadata"},
	"specification": {"granular", "granular:specification"},
	"condition":     {"granular", "granular:condition(Own)"},
	"several":       {"granular", "granular:label(own.example.com)", "granular:replicas", "granular:conditions"},
	"nothing":       {"granular"},
	"stranger":      {"granular:metadata", "granular:specification", "granular:status"},
	"ordinary":      {"patch", "update"},
	flipping:        {"granular", "granular:annotations"},
}

// flipping is the user that gets and loses the verb flipped again and again.
const (
	flipping = "flipping"
	flipped  = "granular:replicas"
)

// mayEver reports whether a user may make a kind of change, at least at some times.
func mayEver(user, change string) bool {
	held := users[user]
	if slices.Contains(held, "patch") {
		return true
	}
	if !slices.Contains(held, "granular") {
		return false
	}
	return slices.ContainsFunc(covering[change], func(verb string) bool {
		return slices.Contains(held, verb) || user == flipping && verb == flipped
	})
}

// allowed returns what may happen to a request. It is (true, true) if the request must succeed
// and (false, false) if it must not. It is (false, true) if either is right, because the user's
// role changes meanwhile.
func allowed(user string, changes []string) (must, may bool) {
	must, may = true, true
	for _, change := range changes {
		if !mayEver(user, change) {
			return false, false
		}
		if user == flipping && change == "replicas" {
			must = false
		}
	}
	return must, may
}

// stored returns the kind of change that a path of a stored object belongs to.
func stored(path string) string {
	switch {
	case strings.HasPrefix(path, "/metadata/labels/own.example.com|"):
		return "label own"
	case strings.HasPrefix(path, "/metadata/labels/"):
		return "label other"
	case strings.HasPrefix(path, "/metadata/annotations/own.example.com|"):
		return "annotation"
	case path == "/spec/replicas":
		return "replicas"
	case path == "/spec/revisionHistoryLimit":
		return "history"
	case strings.HasPrefix(path, "/status/conditions/Own/"):
		return "condition own"
	case strings.HasPrefix(path, "/spec/template/metadata/labels/own.example.com|"):
		return "template label"
	}
	return fmt.Sprintf("unknown field %s", path)
}
