// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// Denial is a refused request, or several equal ones.
type Denial struct {
	// Key identifies equal refusals, so that a page can hide one and find it again.
	Key string `json:"key"`
	// Time is that of the last request, in RFC 3339, "" if it is not known.
	Time  string `json:"time,omitempty"`
	Count int    `json:"count"`
	// AuditID is that of the last request.
	AuditID string `json:"auditID,omitempty"`
	User    string `json:"user"`
	// Subject is the index of User, or None if no binding names it.
	Subject int `json:"subject"`
	// Groups are the groups of the user, if the audit log has them.
	Groups []string `json:"groups,omitempty"`
	// Behalf are those on whose behalf the user acted, the first one first, each with how: "alice by Delegation d".
	Behalf []string `json:"behalf,omitempty"`
	// Verb is the verb of the request, such as patch, "" if it is not known.
	Verb string `json:"verb,omitempty"`
	// Kind is an index of Kinds, or None if the kind is not known.
	Kind int `json:"kind"`
	// Resource is formatted as deployments.apps/scale.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Field is the path of the field, "" if the whole request was refused.
	Field string `json:"field,omitempty"`
	// Missing are the verbs of which one was missing, least first. If Together has verbs, these are needed
	// together instead of the first.
	Missing  []string `json:"missing,omitempty"`
	Together []string `json:"together,omitempty"`
	// Message is what the server said, if it is known.
	Message string `json:"message,omitempty"`
	// Advice is a text on what to do if no role with a single verb helps. Then Remedy is nil.
	Advice string  `json:"advice,omitempty"`
	Remedy *Remedy `json:"remedy,omitempty"`
}

// Remedy is the least role that lifts a refusal or grants a wish. Nothing is applied by the page.
type Remedy struct {
	// Name is the name of the role and of its binding.
	Name string `json:"name"`
	// YAML are the role and the binding.
	YAML string `json:"yaml"`
	// Commands create the same by kubectl.
	Commands []string `json:"commands"`
	// Test is a role test as YAML, for kube-granular test. It is empty if none can be made.
	Test string `json:"test,omitempty"`
	// Allows are the paths of all fields that the role lets change, including what was not asked for.
	Allows []string `json:"allows,omitempty"`
	// Beyond says what the role allows besides the wish, one sentence each.
	Beyond []string `json:"beyond,omitempty"`
}
