// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package draft

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// Limits of a test from a log. They are below those of a test.
const (
	maxCases   = 200
	maxAlike   = 10       // cases that differ only in the name of the object
	maxBody    = 64 << 10 // bytes of one object or patch
	maxContent = 512 << 10
	maxLeft    = 50 // reasons in the comments
)

// Roles say what a caller holds, and are the objects that grant it.
type Roles interface {
	// Verbs returns the verbs that the roles grant for a request.
	Verbs(*learn.Demand) []string
	// Given returns the roles and bindings. Roles that no binding is for are bound to the subjects.
	Given(subjects []rbacv1.Subject) []runtime.Object
}

// Recorder makes a test of roles from the requests in audit logs. A case says what the roles allow and refuse,
// and not what the server answered when the log was written.
type Recorder struct {
	roles Roles
	cases []format.Case
	// makes are the objects that cases create, by the index of the case.
	makes map[int]objectKey
	// subjects are those of the cases, and accounts the service accounts that pods need, as NAMESPACE/NAME.
	subjects   []rbacv1.Subject
	accounts   []string
	namespaces map[string]bool
	// objects are the first versions that the log shows. order has the keys of those that cases need.
	objects map[objectKey]map[string]any
	order   []objectKey
	// shapes has each case, and alike counts those that differ only in names.
	shapes map[string]bool
	alike  map[string]int
	// merged counts the requests that are like a case. left counts the others that are no case, by the reason.
	merged  int
	left    map[string]int
	content int
	err     error
}

// NewRecorder returns a recorder without any requests.
func NewRecorder(r Roles) *Recorder {
	return &Recorder{roles: r, namespaces: map[string]bool{}, objects: map[objectKey]map[string]any{}, makes: map[int]objectKey{},
		shapes: map[string]bool{}, alike: map[string]int{}, left: map[string]int{}}
}

// objectKey identifies an object.
type objectKey struct {
	resource        schema.GroupResource
	namespace, name string
}

func (k objectKey) String() string {
	if k.namespace != "" {
		return k.namespace + "/" + k.name
	}
	return k.name
}

// Judge makes a case of a request, or counts why it is none. It is the method for learn.Options.Each.
func (r *Recorder) Judge(ctx context.Context, d *learn.Demand) {
	if r.err != nil {
		return
	}
	n, why, err := r.try(ctx, d)
	switch {
	case err != nil:
		r.err = err
	case why != "":
		r.leave(d, why)
	default:
		r.add(d, n)
	}
}

// leave counts a request that is no case. Names are left out, so that the reasons are few.
func (r *Recorder) leave(d *learn.Demand, why string) {
	what := d.Verb + " " + (schema.GroupResource{Group: d.Key.Group, Resource: d.Key.Resource}).String()
	r.left[what+": "+why]++
}

// candidate is a case, and the object that it needs.
type candidate struct {
	test   format.Case
	needs  *objectKey
	object map[string]any
	// makes is the object that the case creates, or nil.
	makes *objectKey
	// shape is equal for cases of the same change, apart from the name of the object.
	shape string
}

// add adds a case, if there is none like it.
func (r *Recorder) add(d *learn.Demand, n *candidate) {
	shape := fmt.Sprintf("%q", []any{n.shape, d.Name})
	text, err := json.Marshal([]any{n.test, n.object})
	if err != nil {
		r.err = err
		return
	}
	switch {
	case r.shapes[shape]:
		r.merged++
	case r.alike[n.shape] == maxAlike:
		r.leave(d, fmt.Sprintf("like %d cases of other objects", maxAlike))
	case len(r.cases) == maxCases || r.content+len(text) > maxContent:
		r.leave(d, "the test is full")
	case len(text) > maxBody:
		r.leave(d, "the object is large")
	default:
		r.shapes[shape] = true
		r.alike[n.shape]++
		r.content += len(text)
		if n.makes != nil {
			r.makes[len(r.cases)] = *n.makes
		}
		r.cases = append(r.cases, n.test)
		r.needs(d, n)
	}
}

// needs adds what a case needs to given.
func (r *Recorder) needs(d *learn.Demand, n *candidate) {
	if subject := subjectOf(&n.test.As); !slices.Contains(r.subjects, subject) {
		r.subjects = append(r.subjects, subject)
	}
	if d.Key.Namespace != "" {
		r.namespaces[d.Key.Namespace] = true
	}
	if n.needs != nil && !slices.Contains(r.order, *n.needs) {
		r.order = append(r.order, *n.needs)
		r.objects[*n.needs] = n.object
	}
	for _, o := range []map[string]any{n.object, created(&n.test)} {
		if account := accountOf(o); account != "" && !slices.Contains(r.accounts, d.Key.Namespace+"/"+account) {
			r.accounts = append(r.accounts, d.Key.Namespace+"/"+account)
		}
	}
}

func created(c *format.Case) map[string]any {
	if c.Create != nil {
		return c.Create.Object
	}
	return nil
}

// accountOf returns the service account of a pod, which must exist.
func accountOf(o map[string]any) string {
	if o["kind"] != "Pod" {
		return ""
	}
	spec, _ := o["spec"].(map[string]any)
	if name, _ := spec["serviceAccountName"].(string); name != "" {
		return name
	}
	return "default"
}

func subjectOf(s *format.Subject) rbacv1.Subject {
	if namespace, name, ok := strings.Cut(s.ServiceAccount, "/"); ok {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.User}
}

// ErrNoCase means that no request of the logs can be a case.
type ErrNoCase struct{ Reasons []string }

// Error lists the reasons.
func (e ErrNoCase) Error() string {
	if len(e.Reasons) == 0 {
		return "the logs have no request that can be a case"
	}
	return "no request in the logs can be a case: " + strings.Join(e.Reasons, "; ")
}

// Write writes the test.
func (r *Recorder) Write(out io.Writer) error {
	if r.err != nil {
		return r.err
	}
	given, exists, err := r.given()
	if err != nil {
		return err
	}
	cases := r.apart(exists)
	left := r.reasons()
	if len(cases) == 0 {
		return ErrNoCase{left}
	}
	notes := []string{"A test of what was recorded in audit logs: kube-granular test FILE.",
		"Add cases for what the roles must not allow: a log shows only what was allowed then."}
	if r.merged > 0 {
		notes = append(notes, fmt.Sprintf("Requests that are like a case here: %d", r.merged))
	}
	if len(left) > 0 {
		notes = append(append(notes, "Requests that are no case here:"), left...)
	}
	return writeTest(out, notes, given, cases)
}

// reasons returns why requests are no cases, and how many of them.
func (r *Recorder) reasons() []string {
	var out []string
	for why, count := range r.left {
		out = append(out, fmt.Sprintf("%d × %s", count, why))
	}
	slices.Sort(out)
	if len(out) > maxLeft {
		rest := len(out) - maxLeft
		out = append(out[:maxLeft], fmt.Sprintf("and for %d more reasons", rest))
	}
	return out
}

// apart returns the cases. One that creates an object which the test has creates another one instead: for a
// create, the server authorizes no name.
func (r *Recorder) apart(exists func(objectKey) bool) []format.Case {
	var out []format.Case
	for i, c := range r.cases {
		key, creates := r.makes[i]
		switch {
		case !creates || !exists(key):
		case c.Apply != nil:
			r.left["apply "+key.resource.String()+": it creates an object that the test has"]++
			continue
		default:
			metadata, _ := c.Create.Object["metadata"].(map[string]any)
			delete(metadata, "name")
			metadata["generateName"] = key.name + "-"
		}
		out = append(out, c)
	}
	return out
}

// given returns the objects of the test, and whether it has an object.
func (r *Recorder) given() ([]any, func(objectKey) bool, error) {
	namespaces := r.namespaces
	accounts := slices.Clone(r.accounts)
	roles := r.roles.Given(r.subjects)
	for _, s := range r.subjects {
		if s.Kind == rbacv1.ServiceAccountKind && !slices.Contains(accounts, s.Namespace+"/"+s.Name) {
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	var rest []any
	for _, o := range roles {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, nil, err
		}
		withoutServer(object)
		if metadata, ok := object["metadata"].(map[string]any); ok && metadata["namespace"] != nil {
			namespaces[metadata["namespace"].(string)] = true
		}
		rest = append(rest, object)
	}
	var first []any
	for _, account := range accounts {
		namespace, name, _ := strings.Cut(account, "/")
		namespaces[namespace] = true
		if _, own := r.objects[objectKey{schema.GroupResource{Resource: "serviceaccounts"}, namespace, name}]; !own {
			first = append(first, object("ServiceAccount", map[string]any{"name": name, "namespace": namespace}))
		}
	}
	for _, key := range r.order {
		o := runtime.DeepCopyJSON(r.objects[key])
		hideStored(o)
		rest = append(rest, o)
		if key.resource == (schema.GroupResource{Resource: "namespaces"}) {
			delete(namespaces, key.name)
		}
	}
	exists := func(k objectKey) bool {
		return slices.Contains(r.order, k) || k.resource.String() == "namespaces" && namespaces[k.name] ||
			k.resource.String() == "serviceaccounts" && slices.Contains(accounts, k.String())
	}
	return slices.Concat(namespaceObjects(namespaces), first, rest), exists, nil
}
