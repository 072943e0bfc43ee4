// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/cli/remedy"
	"kube-granular.dev/pkg/cli/roles"
	"kube-granular.dev/pkg/cli/roletest/draft"
	"kube-granular.dev/pkg/cli/ui/model"
)

// index finds the kinds and subjects of a snapshot by their names.
type index struct {
	snapshot *model.Snapshot
	kinds    map[schema.GroupResource]int
	subjects map[string]int

	mu      sync.Mutex
	denials map[string]model.Denial
}

func newIndex(s *model.Snapshot) *index {
	out := &index{snapshot: s, kinds: map[schema.GroupResource]int{}, subjects: map[string]int{}, denials: map[string]model.Denial{}}
	for i := range s.Kinds {
		out.kinds[schema.GroupResource{Group: s.Kinds[i].Group, Resource: s.Kinds[i].Resource}] = i
	}
	for i := range s.Subjects {
		subject := &s.Subjects[i]
		out.subjects[roles.FormatSubject(rbacv1.Subject{Kind: subject.Kind, Namespace: subject.Namespace, Name: subject.Name})] = i
	}
	return out
}

func (x *index) kind(resource string) int {
	if i, ok := x.kinds[schema.ParseGroupResource(resource)]; ok {
		return i
	}
	return model.None
}

// user returns the index of the subject for the name of a user.
func (x *index) user(name string) int {
	subject, err := roles.ParseSubject("user:" + name)
	if err != nil {
		return model.None
	}
	if i, ok := x.subjects[roles.FormatSubject(subject)]; ok {
		return i
	}
	return model.None
}

// Denials are refused requests.
type Denials struct {
	Denials []model.Denial `json:"denials"`
	// Unread is the number of lines of the log that could not be read.
	Unread int `json:"unread"`
	// More is the number of earlier refusals that are not here.
	More int `json:"more,omitempty"`
}

// Denials returns the refused requests of the audit log, as it is now.
func (a *Answers) Denials(ctx context.Context) (*Denials, error) {
	s, err := a.current()
	if err != nil {
		return nil, err
	}
	if a.Log == nil {
		return &Denials{Denials: []model.Denial{}}, nil
	}
	refused, err := a.Log.Read(ctx)
	if err != nil {
		return nil, err
	}
	out := &Denials{Unread: a.Log.Unread()}
	out.Denials, out.More = a.denials(refused, s.index)
	return out, nil
}

// Explain returns the refusals in a text: the output of a client, a log, or lines of an audit log.
func (a *Answers) Explain(ctx context.Context, text string) (*Denials, error) {
	s, err := a.current()
	if err != nil {
		return nil, err
	}
	refused, unread, err := inText(ctx, text)
	if err != nil {
		return nil, err
	}
	out := &Denials{Unread: unread}
	out.Denials, out.More = a.denials(refused, s.index)
	return out, nil
}

// inText returns the refusals in a text.
func inText(ctx context.Context, text string) ([]denial.Refused, int, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		pasted := &Log{Name: "the text"}
		unread, err := pasted.add(ctx, strings.NewReader(text))
		if err == nil && pasted.events > 0 {
			return pasted.all(), unread, nil
		}
	}
	found, err := denial.Parse(text)
	if err != nil {
		return nil, 0, err
	}
	var out []denial.Refused
	for _, d := range found {
		out = append(out, denial.Refused{Denial: d, Verb: d.Ordinary})
	}
	return out, 0, nil
}

// denials describes refused requests, the last one first. Equal ones, of one user about one field of one object,
// are one. more is the number of those that are not described.
func (a *Answers) denials(refused []denial.Refused, names *index) (out []model.Denial, more int) {
	out, known := []model.Denial{}, map[string]int{}
	for i := range refused {
		r := &refused[i]
		key := keyOf(r)
		if first, ok := known[key]; ok {
			if first < maxDenials {
				out[first].Count++
			}
			continue
		}
		known[key] = len(known)
		if len(out) == maxDenials {
			continue
		}
		one := names.described(key, func() model.Denial { return a.denial(r, names) })
		one.Key, one.Count, one.Time, one.AuditID = key, 1, r.Time, r.AuditID
		out = append(out, one)
	}
	return out, len(known) - len(out)
}

// maxDenials is the maximum number of refusals that a page shows.
const maxDenials = 1000

// described returns the description of a refusal, which is made once for each snapshot.
func (x *index) described(key string, describe func() model.Denial) model.Denial {
	x.mu.Lock()
	defer x.mu.Unlock()
	one, ok := x.denials[key]
	if !ok {
		one = describe()
		x.denials[key] = one
	}
	return one
}

// keyOf identifies equal refusals.
func keyOf(r *denial.Refused) string {
	d, h := r.Denial, sha256.New()
	for _, part := range []string{d.User, r.Verb, d.Resource, d.Subresource, d.Namespace, d.Name, d.Field, d.Ordinary, d.Why} {
		h.Write([]byte(fmt.Sprintf("%q ", part)))
	}
	h.Write([]byte(fmt.Sprintf("%q %v %v %q", d.Verbs, d.Admission, d.Grant, behalf(r))))
	return hex.EncodeToString(h.Sum(nil)[:keyLength])
}

const keyLength = 8

// behalf returns those on whose behalf a user acted. A token hands nothing over: it is the user's own.
func behalf(r *denial.Refused) (out []string) {
	for _, h := range r.Chain {
		if h.Via != "Token" {
			out = append(out, strings.TrimSpace(h.By+" by "+h.Via+" "+h.Name))
		}
	}
	return out
}

func (a *Answers) denial(r *denial.Refused, names *index) model.Denial {
	d := *r.Denial
	out := model.Denial{
		Time: r.Time, AuditID: r.AuditID, User: d.User, Subject: names.user(d.User), Groups: r.Groups, Behalf: behalf(r), Verb: r.Verb, Kind: names.kind(d.Resource),
		Namespace: d.Namespace, Name: d.Name, Field: d.Field, Together: d.Together, Message: cmp.Or(r.Message, d.Why),
	}
	if out.Missing = d.Verbs; len(out.Missing) == 0 && d.Ordinary != "" {
		out.Missing = []string{d.Ordinary}
	}
	found, err := remedy.For(&d, a.Kinds)
	out.Resource = d.Resource // with the subresource that the remedy found
	if d.Subresource != "" {
		out.Resource += "/" + d.Subresource
	}
	switch {
	case err != nil:
		out.Advice = fmt.Sprintf("What would lift the refusal is not known: %v.", err)
	case found.Advice != "":
		out.Advice = string(found.Advice)
	default:
		out.Remedy = remedyOf(found)
	}
	return out
}

// remedyOf returns the role of a remedy as text, or nil if it can't be text.
func remedyOf(found *remedy.Remedy) *model.Remedy {
	text, err := yamlOf(found.Objects)
	if err != nil {
		return nil
	}
	out := &model.Remedy{Name: found.Name, YAML: text, Commands: found.Commands, Allows: found.Fields}
	if len(found.Grant.Rules) > 0 {
		// A remedy without a test is still one.
		out.Test, _ = draft.OfGrant(found.Grant, found.Name, found.Subject, found.Fields)
	}
	return out
}

// yamlOf returns objects as documents of YAML.
func yamlOf(objects []any) (string, error) {
	var out strings.Builder
	err := printing.YAML(&out, objects...)
	return out.String(), err
}

// newest returns refusals with the last request first.
func newest(all []denial.Refused) []denial.Refused {
	out := slices.Clone(all)
	slices.Reverse(out)
	return out
}
