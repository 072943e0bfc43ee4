// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"fmt"
	"slices"
	"strings"
)

// kinds of things a request can change, and the verbs that cover each.
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

// users and what they hold on deployments, their subresources and widgets. Whoever
// holds patch may change anything.
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

// flipping is the user who is given one verb more, and loses it, again and again.
const (
	flipping = "flipping"
	flipped  = "granular:replicas"
)

// mayEver says whether a user holds what a change needs, at least at times.
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

// allowed says what must become of a request: it must pass, it must not, or, where
// roles change underneath, either.
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

// stored says what kind of change a field of a stored object is, by its path.
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
