// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"kube-granular.dev/granular/change"
	granular "kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// DryRun is what a request would do.
type DryRun struct {
	Request
	// Creates says that there is no such object yet.
	Creates bool
	// Changes are the fields that the caller has to answer for.
	Changes change.Set
	// Sure says that they are known from a dry run. Else they are what the request itself
	// says, before the server completes and admits it.
	Sure bool

	tree     *granular.Tree
	walker   *change.Walker
	old, new map[string]any
}

// Field returns the path of a change, for people.
func (r *DryRun) Field(c change.Change) string {
	if r.Creates && len(c.Path()) == 0 {
		return c.String()
	}
	if r.Creates {
		return c.Path().String()
	}
	return r.walker.Locate(c, asObject(r.old), asObject(r.new))
}

// Sender sends requests.
type Sender = rest.Interface

// DryRunner rehearses requests with the rights of one caller.
type DryRunner struct {
	Kinds *kinds.Cluster
	// Client has the credentials of whoever runs the plugin.
	Client *rest.RESTClient
}

// NewClient returns a client for requests of any path.
func NewClient(config *rest.Config) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion = &schema.GroupVersion{}
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.WarningHandler = rest.NoWarnings{}
	return rest.UnversionedRESTClientFor(c)
}

// Run finds out what a request would change. It fails for a request that the server
// refuses for another reason than permissions, such as one that is not valid.
func (r *DryRunner) Run(ctx context.Context, request Request) (*DryRun, error) {
	out := &DryRun{Request: request}
	var err error
	if out.tree, err = r.Kinds.TreeOf(request.Kind, request.Subresource); err != nil {
		return nil, err
	}
	out.walker = change.NewWalker(out.tree)
	if request.Verb == "create" || request.Name == "" {
		out.Creates = true
	} else {
		out.old, err = r.object(ctx, r.Client.Get().AbsPath(request.path(true)))
		switch {
		case apierrors.IsNotFound(err) && request.Subresource == "" && (request.Verb == "update" || request.PatchType == types.ApplyPatchType):
			out.Creates = true
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("%w; to know what the request changes the object must be read: ask with credentials that may get it, and name the subject with --as", err)
		case err != nil:
			return nil, err
		}
	}
	out.new, err = Send(ctx, r.Client, request)
	out.Sure = err == nil
	own, ownErr := r.requestedObject(out)
	switch {
	case apierrors.IsForbidden(err) && ownErr == nil:
		out.new = own
	case err != nil:
		return nil, err
	}
	final, err := out.compare(out.new)
	if err != nil {
		return nil, err
	}
	out.Changes = final
	// What an apply takes away, because the manager applied it before, is the caller's too, and
	// known to the server alone.
	if out.Sure && ownErr == nil && !out.Creates && request.PatchType != types.ApplyPatchType {
		observed, err := out.compare(own)
		if err != nil {
			return nil, err
		}
		out.Changes = change.Answerable(observed, final)
	}
	return out, nil
}

// Send sends a request as a dry run, and returns what would be stored.
func Send(ctx context.Context, client rest.Interface, request Request) (map[string]any, error) {
	var call *rest.Request
	switch request.Verb {
	case "create":
		call = client.Post().AbsPath(request.path(false)).SetHeader("Content-Type", "application/json")
	case "update":
		call = client.Put().AbsPath(request.path(true)).SetHeader("Content-Type", "application/json")
	case "patch":
		call = client.Patch(request.PatchType).AbsPath(request.path(true))
	default:
		return nil, fmt.Errorf("%s is no write of fields", request.Verb)
	}
	for name, values := range request.dryRunQuery() {
		for _, v := range values {
			call.Param(name, v)
		}
	}
	result := call.Body(request.Body).SetHeader("Accept", "application/json").Do(ctx)
	return decodeResult(result)
}

func (r *DryRunner) object(ctx context.Context, call *rest.Request) (map[string]any, error) {
	return decodeResult(call.SetHeader("Accept", "application/json").Do(ctx))
}

// decodeResult returns the object of an answer, with numbers as the library has them.
func decodeResult(result rest.Result) (map[string]any, error) {
	data, err := result.Raw()
	if err != nil {
		// Raw keeps the server's words from an error; Error has them.
		if worded := result.Error(); worded != nil {
			return nil, worded
		}
		return nil, err
	}
	out := map[string]any{}
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("the server answered with what is no object: %w", err)
	}
	if out["kind"] == "Status" && out["apiVersion"] == "v1" {
		return nil, errors.New(http.StatusText(http.StatusUnprocessableEntity) + ": the server answered with a Status")
	}
	return out, nil
}

func (r *DryRun) compare(object map[string]any) (change.Set, error) {
	var old any
	if !r.Creates {
		old = r.old
	}
	return r.walker.Compare(change.All, old, object)
}

func asObject(o map[string]any) any {
	if o == nil {
		return nil
	}
	return o
}

// Missing reports whether there is no object yet that a request could change.
func (r *DryRunner) Missing(ctx context.Context, request Request) (bool, error) {
	if request.Name == "" {
		return true, nil
	}
	_, err := r.object(ctx, r.Client.Get().AbsPath(request.path(true)))
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
