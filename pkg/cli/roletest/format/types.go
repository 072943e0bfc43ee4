// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"strings"

	"kube-granular.dev/api/selection"
)

const (
	// APIVersion and Kind are those of a test. No server serves the kind.
	APIVersion = "test.kube-granular.dev/v1alpha1"
	Kind       = "RoleTest"
)

// RoleTest is the content of a file. schema.json describes the same fields for editors; a test keeps
// the two equal.
type RoleTest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Given are the objects of the cluster: each a name of files, an object, or a GivenAs.
	Given []any  `json:"given"`
	Cases []Case `json:"cases"`
}

// GivenAs is an entry of given that a user of the test creates, and not the administrator. It has
// either files or an object.
type GivenAs struct {
	As     Subject        `json:"as"`
	Files  string         `json:"files,omitempty"`
	Object map[string]any `json:"object,omitempty"`
}

// Case is one request, and what the server must answer. Exactly one of the requests is set.
type Case struct {
	// Name describes the case. Without it, the request does.
	Name   string  `json:"name,omitempty"`
	As     Subject `json:"as"`
	Create *Create `json:"create,omitempty"`
	Patch  *Patch  `json:"patch,omitempty"`
	Update *Update `json:"update,omitempty"`
	Apply  *Apply  `json:"apply,omitempty"`
	Scale  *Scale  `json:"scale,omitempty"`
	Delete *Target `json:"delete,omitempty"`
	Get    *Get    `json:"get,omitempty"`
	// Expect is the text "allowed", or an Expectation.
	Expect any `json:"expect"`

	// Line is where the case begins in its file.
	Line int `json:"-"`
	// Refused is what Expect says, or nil if the request is expected to be allowed.
	Refused *Refusal `json:"-"`
}

// Subject is who sends a request: a user with groups, or a service account.
type Subject struct {
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// ServiceAccount has the form NAMESPACE/NAME.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Selects is the one role or delegation by which the request is authorized, as with kubectl with.
	Selects *Authority `json:"selects,omitempty"`
	// Stamp is the delegation by which the request is authorized, if a policy made it. Its name is not known
	// before.
	Stamp *Stamp `json:"stamp,omitempty"`
}

// Selecting reports whether requests select an authority.
func (s *Subject) Selecting() bool { return s.Selects != nil || s.Stamp != nil }

// Stamp refers to the delegation that an AuthorityDelegationPolicy made for the author of an object. An
// annotation of the object, the stamp, names it.
type Stamp struct {
	Policy string `json:"policy"`
	// Target is the object.
	Target
}

// String names the stamp in messages.
func (s *Stamp) String() string { return "stamp/" + s.Policy + " on " + s.Resource + " " + s.Name }

// Authority refers to a role or a delegation.
type Authority struct {
	Kind      selection.Kind `json:"kind"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name"`
}

// Selection returns what the header of the request says.
func (a *Authority) Selection() *selection.SelectedAuthority {
	return &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{
		Kind: a.Kind, Namespace: a.Namespace, Name: a.Name,
	}}
}

// Target is the object of a request.
type Target struct {
	// Resource has the form of a rule of RBAC, with the group after a dot where it is needed: pods,
	// deployments.apps, deployments/status.
	Resource string `json:"resource"`
	// Name has the form NAMESPACE/NAME, or NAME for a resource without namespaces.
	Name string `json:"name"`
}

// Create creates an object, or a subresource of one, such as pods/eviction.
type Create struct {
	Resource string         `json:"resource,omitempty"`
	Object   map[string]any `json:"object"`
}

// Patch has exactly one of the three kinds of patches.
type Patch struct {
	Target
	Merge     map[string]any `json:"merge,omitempty"`
	Strategic map[string]any `json:"strategic,omitempty"`
	JSON      []any          `json:"json,omitempty"`
}

// Update is the update of a client that reads an object, changes it, and writes it whole.
type Update struct {
	Target
	// Merge is the change, as a merge patch.
	Merge map[string]any `json:"merge"`
}

// Apply is a server-side apply.
type Apply struct {
	Resource string         `json:"resource,omitempty"`
	Object   map[string]any `json:"object"`
	Manager  string         `json:"manager,omitempty"`
	Force    bool           `json:"force,omitempty"`
}

// Scale sets the replicas by the subresource scale.
type Scale struct {
	Target
	Replicas int64 `json:"replicas"`
}

// Get reads an object. Without a name, it lists the objects of a namespace or of the cluster, or
// watches them. With Metadata it asks for the metadata alone, for which the verb readmetadata suffices.
type Get struct {
	Resource  string `json:"resource"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Watch     bool   `json:"watch,omitempty"`
	Metadata  bool   `json:"metadata,omitempty"`
}

// Expectation is an answer of the server other than that the request is allowed.
type Expectation struct {
	Refused Refusal `json:"refused"`
}

// Refusal is what a refusal must name: the field, or one verb that the caller needs, or both. A
// refusal at a field below Field counts too.
type Refusal struct {
	Field string `json:"field,omitempty"`
	Needs string `json:"needs,omitempty"`
}

// String names a subject in messages, as roles.ParseSubject reads it.
func (s *Subject) String() string {
	out := "user:" + s.User
	if s.ServiceAccount != "" {
		out = "serviceaccount:" + s.ServiceAccount
	}
	if len(s.Groups) > 0 {
		out += " of " + strings.Join(s.Groups, ", ")
	}
	if s.Selects != nil {
		out += " with " + s.Selects.String()
	}
	if s.Stamp != nil {
		out += " with " + s.Stamp.String()
	}
	return out
}

// String names the authority as kubectl with does.
func (a *Authority) String() string {
	switch a.Kind {
	case selection.RoleKind:
		return "role/" + a.Namespace + "/" + a.Name
	case selection.AuthorityDelegationKind:
		return "delegation/" + a.Name
	}
	return "clusterrole/" + a.Name
}
