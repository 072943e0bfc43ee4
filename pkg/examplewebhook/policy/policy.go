// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Policy is the content of a policy file.
type Policy struct {
	// Faults are the faults of the webhook. The first fault that matches a review is in the answer,
	// in addition to the decision by Deny and Allow.
	Faults []Fault `json:"faults,omitempty"`
	// Deny has the rules whose decision is Deny. Later authorizers of the server can't override it.
	Deny []Rule `json:"deny,omitempty"`
	// Allow has the rules whose decision is Allow.
	Allow []Rule `json:"allow,omitempty"`
}

// Rule matches reviews and has a reason for its decision.
type Rule struct {
	Match `json:",inline"`
	// Reason is sent to the server, which shows it to a caller who is denied.
	Reason string `json:"reason,omitempty"`
}

// Fault describes how the webhook fails for the reviews that the fault matches.
type Fault struct {
	Match `json:",inline"`
	// Delay is how long the webhook waits before it answers or fails.
	Delay metav1.Duration `json:"delay,omitempty"`
	// Status is the HTTP status of an error response in place of the review, or 0.
	Status int `json:"status,omitempty"`
	// Garbage makes the webhook answer with an invalid review.
	Garbage bool `json:"garbage,omitempty"`
	// Hangup makes the webhook close the connection without an answer.
	Hangup bool `json:"hangup,omitempty"`
}

// Decision is the decision of an authorizer.
type Decision string

// The decisions of an authorizer.
const (
	Allow     Decision = "allow"
	Deny      Decision = "deny"
	NoOpinion Decision = "no opinion"
)

// Answer is the answer of a policy to a review.
type Answer struct {
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitempty"`
	// Fault is the fault for the review, or nil if the webhook must answer normally.
	Fault *Fault `json:"fault,omitempty"`
}

// Parse reads a policy. An unknown field is an error.
func Parse(data []byte) (*Policy, error) {
	p := &Policy{}
	if err := yaml.UnmarshalStrict(data, p); err != nil {
		return nil, err
	}
	for i, f := range p.Faults {
		ways := 0
		for _, way := range []bool{f.Status != 0, f.Garbage, f.Hangup} {
			if way {
				ways++
			}
		}
		switch {
		case ways > 1:
			return nil, fmt.Errorf("faults[%d]: at most one of status, garbage and hangup can be set", i)
		case ways == 0 && f.Delay.Duration == 0:
			return nil, fmt.Errorf("faults[%d]: needs one of delay, status, garbage and hangup", i)
		case f.Status != 0 && (f.Status < 400 || f.Status > 599):
			return nil, fmt.Errorf("faults[%d].status: %d is not an error status, want 400 to 599", i, f.Status)
		case f.Delay.Duration < 0 || f.Delay.Duration > time.Minute:
			return nil, fmt.Errorf("faults[%d].delay: want at most 1m", i)
		}
	}
	for name, rules := range map[string][]Rule{"deny": p.Deny, "allow": p.Allow} {
		for i, r := range rules {
			if err := r.Match.validate(); err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", name, i, err)
			}
		}
	}
	return p, nil
}

// Decide returns the answer to a review.
func (p *Policy) Decide(asked *authorizationv1.SubjectAccessReviewSpec) Answer {
	answer := Answer{Decision: NoOpinion}
	for i := range p.Faults {
		if p.Faults[i].matches(asked) {
			answer.Fault = &p.Faults[i]
			break
		}
	}
	for _, r := range p.Deny {
		if r.matches(asked) {
			answer.Decision, answer.Reason = Deny, r.Reason
			return answer
		}
	}
	for _, r := range p.Allow {
		if r.matches(asked) {
			answer.Decision, answer.Reason = Allow, r.Reason
			return answer
		}
	}
	return answer
}

// Status returns the decision as the status of a SubjectAccessReview.
func (a Answer) Status() authorizationv1.SubjectAccessReviewStatus {
	return authorizationv1.SubjectAccessReviewStatus{Allowed: a.Decision == Allow, Denied: a.Decision == Deny, Reason: a.Reason}
}
