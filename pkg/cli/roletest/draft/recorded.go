// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package draft

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/roletest/format"
	"kube-granular.dev/pkg/included"
)

// asking are the groups where the server asks for more than the verb and the fields of a write, such as bind or
// approve. The log does not show it, so the roles can't be judged.
var asking = []string{"rbac.authorization.k8s.io", "certificates.k8s.io", "admissionregistration.k8s.io",
	"authentication.k8s.io", "authorization.k8s.io", "flowcontrol.apiserver.k8s.io"}

// try returns the case of a request, or why the request is none.
func (r *Recorder) try(ctx context.Context, d *learn.Demand) (*candidate, string, error) {
	rec := d.Recorded()
	subject, why := callerOf(d)
	writes := !slices.Contains([]string{"get", "list", "watch"}, d.Verb)
	switch {
	case rec.Borrowed != "":
		return nil, rec.Borrowed, nil
	case why != "":
		return nil, why, nil
	case !scheme.Scheme.IsVersionRegistered(rec.Resource.GroupVersion()):
		return nil, "its definition is not in the log", nil
	case strings.Contains(rec.Resource.Version, "alpha") || strings.Contains(rec.Resource.Version, "beta"):
		return nil, "not every server has this version", nil
	case writes && slices.Contains(asking, rec.Resource.Group):
		return nil, "the server asks for more than the log shows", nil
	case rec.Subresource != "" && rec.Subresource != "status" && rec.Subresource != "scale":
		return nil, "a case can't be about this subresource", nil
	case !rec.Succeeded:
		return nil, "it failed then", nil
	case len(rec.Body) > maxBody || len(rec.Stored) > maxBody || len(rec.Read) > maxBody:
		return nil, "the object is large", nil
	}
	n := &candidate{test: format.Case{As: subject}}
	var err error
	switch d.Verb {
	case "list", "watch":
		if d.Name != "" {
			return nil, "a case can't select a name", nil
		}
		n.test.Get = &format.Get{Resource: resourceOf(rec), Namespace: d.Key.Namespace, Watch: d.Verb == "watch", Metadata: rec.Metadata}
	case "get":
		why = r.stored(rec, n, rec.Read)
		n.test.Get = &format.Get{Resource: resourceOf(rec), Name: nameOf(rec), Metadata: rec.Metadata}
	case "delete":
		why = r.stored(rec, n, nil)
		n.test.Delete = &format.Target{Resource: resourceOf(rec), Name: nameOf(rec)}
	case "create":
		why = r.create(rec, n)
	case "update", "patch":
		if rec.Creates {
			why = r.creates(rec, n)
			break
		}
		if why = r.stored(rec, n, nil); why == "" {
			d, why, err = write(d, rec, n)
		}
	default:
		why = "a case can't have this verb"
	}
	if why != "" || err != nil {
		return nil, why, err
	}
	why, err = r.expect(ctx, d, n)
	return n, why, err
}

// expect sets what the roles answer.
func (r *Recorder) expect(ctx context.Context, d *learn.Demand, n *candidate) (string, error) {
	verdict, err := d.Decide(ctx, r.roles.Verbs(d))
	if err != nil {
		return "", err
	}
	var refusal format.Refusal
	switch verdict.Outcome {
	case learn.Allowed:
		n.test.Expect = "allowed"
	case learn.Refused:
		if refusal.Needs = verdict.Ordinary; refusal.Needs == included.MetadataVerb {
			refusal.Needs = d.Verb // a refusal names the ordinary verb
		}
		if refusal.Needs == "" {
			refusal.Needs = verdict.Needs
			if len(verdict.Fields) > 0 && strings.HasPrefix(verdict.Fields[0], ".") {
				refusal.Field = verdict.Fields[0]
			}
		}
		if refusal == (format.Refusal{}) {
			return "no field and no verb is known for the refusal", nil
		}
		n.test.Expect = format.Expectation{Refused: refusal}
	case learn.NotJudged:
		return "it failed then", nil
	default:
		return "not provable: " + verdict.Why, nil
	}
	fields := []string{}
	if d.Verb == "update" || d.Verb == "patch" {
		fields, _ = d.Fields()
	}
	n.shape = fmt.Sprintf("%q", []any{n.test.As, n.test.Request(), d.Verb, d.Recorded().Metadata, d.Key, fields, verdict.Outcome, refusal})
	return "", nil
}

// callerOf returns the subject of a request.
func callerOf(d *learn.Demand) (format.Subject, string) {
	if rest, ok := strings.CutPrefix(d.User, "system:serviceaccount:"); ok {
		namespace, name, _ := strings.Cut(rest, ":")
		return format.Subject{ServiceAccount: namespace + "/" + name}, ""
	}
	out := format.Subject{User: d.User}
	for _, group := range d.Groups {
		switch {
		case group == "system:masters":
			return out, "a member of system:masters may do everything"
		case group == "" || group == "system:unauthenticated" || strings.HasPrefix(group, "system:serviceaccounts"):
			return out, "a case can't have this caller"
		case group != "system:authenticated":
			out.Groups = append(out.Groups, group)
		}
	}
	if d.User == "" || d.User == "system:anonymous" {
		return out, "a case can't have this caller"
	}
	return out, ""
}

// stored sets the object that a case needs: the version that is in the test already, or else the one that the
// log shows first.
func (r *Recorder) stored(rec *learn.Recorded, n *candidate, read []byte) string {
	key := &objectKey{rec.Resource.GroupResource(), rec.Namespace, rec.Name}
	n.needs = key
	if n.object = r.objects[*key]; n.object != nil {
		return ""
	}
	data := rec.Stored
	if data == nil {
		data = read
	}
	object, err := learn.Decode(data)
	if data == nil || err != nil || object["kind"] == nil || object["apiVersion"] == nil {
		return "the log does not show the object before"
	}
	metadata, _ := object["metadata"].(map[string]any)
	switch {
	case metadata["deletionTimestamp"] != nil:
		return "the object was being deleted"
	case made(key):
		return "each server makes this object itself"
	}
	withoutServer(object)
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, lastApplied)
	}
	if rec.Subresource != "status" {
		delete(object, "status")
	}
	n.object = object
	return ""
}

// made reports whether a new server makes an object itself.
func made(k *objectKey) bool {
	switch k.resource.String() {
	case "namespaces":
		return k.name == "default" || strings.HasPrefix(k.name, "kube-")
	case "services", "endpoints", "endpointslices.discovery.k8s.io":
		return k.namespace == "default" && k.name == "kubernetes"
	case "priorityclasses.scheduling.k8s.io":
		return strings.HasPrefix(k.name, "system-")
	}
	return k.namespace == "kube-system"
}

// create sets a create of an object.
func (r *Recorder) create(rec *learn.Recorded, n *candidate) string {
	object, err := learn.Decode(rec.Body)
	if len(rec.Body) == 0 || err != nil || rec.Subresource != "" {
		return "the log does not show the object"
	}
	withoutServer(object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok && rec.Namespace != "" {
		metadata["namespace"] = rec.Namespace
	}
	hideCopies(object)
	if isSecret(rec.Resource) {
		hideRequest(object)
	}
	n.makes = &objectKey{rec.Resource.GroupResource(), rec.Namespace, nameIn(object)}
	n.test.Create = &format.Create{Object: object}
	return ""
}

// creates sets a server-side apply that creates its object.
func (r *Recorder) creates(rec *learn.Recorded, n *candidate) string {
	if !rec.Applies {
		return "a case can't be an update that creates"
	}
	why := r.create(rec, n)
	if why == "" {
		n.test.Apply, n.test.Create = &format.Apply{Object: n.test.Create.Object, Manager: rec.Manager}, nil
	}
	return why
}

func resourceOf(rec *learn.Recorded) string {
	text := schema.GroupResource{Group: rec.Resource.Group, Resource: rec.Resource.Resource}.String()
	if rec.Subresource != "" {
		text += "/" + rec.Subresource
	}
	return text
}

func nameOf(rec *learn.Recorded) string {
	return objectKey{namespace: rec.Namespace, name: rec.Name}.String()
}

func nameIn(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}
