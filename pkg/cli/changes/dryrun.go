// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// DryRun is the result of a dry run of a request.
type DryRun struct {
	Request
	// Creates is true if the object does not exist yet.
	Creates bool
	// Changes are the fields that the caller changes.
	Changes change.Set
	// Sure is true if the changes are known from a dry run. If the dry run was forbidden, Sure is
	// false, and the changes are those of the request before defaulting and admission.
	Sure bool

	tree     *schema.Tree
	walker   *change.Walker
	old, new map[string]any
}

// Field returns the path of the field that a change is about, for messages.
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

// DryRunner sends dry runs with the credentials of one caller.
type DryRunner struct {
	Kinds *kinds.Cluster
	// Client has the credentials of the user of the plugin.
	Client *rest.RESTClient
}

// Product is the name at the beginning of the user agent of the plugin. Learning from audit logs leaves
// out what the plugin asks.
const Product = "kubectl-granular"

// UserAgent returns the user agent of the plugin: the default one, with Product in place of the name of
// the program.
func UserAgent() string {
	_, versions, _ := strings.Cut(rest.DefaultKubernetesUserAgent(), "/")
	return Product + "/" + versions
}

// NewClient returns a client for arbitrary paths.
func NewClient(config *rest.Config) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion = &kubeschema.GroupVersion{}
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.WarningHandler = rest.NoWarnings{}
	return rest.UnversionedRESTClientFor(c)
}

// Run finds out what a request would change. It returns an error if the server refuses the
// request for a reason other than permissions, for example because it is invalid.
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
		out.old, err = request.get(ctx, r.Client)
		switch {
		case apierrors.IsNotFound(err) && request.Subresource == "" && (request.Verb == "update" || request.PatchType == types.ApplyPatchType):
			out.Creates = true
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("%w; the object must be read to find out what the request changes: use credentials that may get it, and name the subject with --as", err)
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
	if out.Creates && ownErr == nil {
		if out.Changes, err = out.withoutServerStatus(own, final); err != nil {
			return nil, err
		}
	}
	// A server-side apply also removes fields that the field manager applied earlier and now
	// omits. These are the caller's changes too, and only the dry run shows them. So for an apply
	// the changes of the dry run are not filtered.
	if out.Sure && ownErr == nil && !out.Creates && request.PatchType != types.ApplyPatchType {
		observed, err := out.compare(own)
		if err != nil {
			return nil, err
		}
		out.Changes = change.Answerable(observed, final)
	}
	return out, nil
}

// Send sends a request as a dry run, and returns the object that would be stored.
func Send(ctx context.Context, client rest.Interface, request Request) (map[string]any, error) {
	var call *rest.Request
	switch request.Verb {
	case "create":
		call = request.locate(client.Post(), false).SetHeader("Content-Type", "application/json")
	case "update":
		call = request.locate(client.Put(), true).SetHeader("Content-Type", "application/json")
	case "patch":
		call = request.locate(client.Patch(request.PatchType), true)
	default:
		return nil, fmt.Errorf("%s does not write fields", request.Verb)
	}
	for name, values := range request.dryRunQuery() {
		for _, v := range values {
			call.Param(name, v)
		}
	}
	result := call.Body(request.Body).SetHeader("Accept", "application/json").Do(ctx)
	return decodeResult(result)
}

// Stored returns the object that a request is about, also if the request is for a subresource. It
// returns nil if there is none.
func (r *DryRunner) Stored(ctx context.Context, request Request) (map[string]any, error) {
	if request.Name == "" || request.Verb == "create" && request.Subresource == "" {
		return nil, nil
	}
	return Get(ctx, r.Client, request.Kind, request.Namespace, request.Name)
}

// decodeResult returns the object of a response. Numbers have the types that the permission library
// expects: int64 or float64.
func decodeResult(result rest.Result) (map[string]any, error) {
	data, err := result.Raw()
	if err != nil {
		// Raw omits the server's message from the error; Error has it.
		if worded := result.Error(); worded != nil {
			return nil, worded
		}
		return nil, err
	}
	out := map[string]any{}
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("the server's response is not an object: %w", err)
	}
	if out["kind"] == "Status" && out["apiVersion"] == "v1" {
		return nil, errors.New(http.StatusText(http.StatusUnprocessableEntity) + ": the server answered with a Status")
	}
	return out, nil
}

// withoutServerStatus returns the final changes of a request that creates its object, without those of
// the status that the request does not ask for. If a kind has the subresource status, the server sets
// the status of a new object itself.
func (r *DryRun) withoutServerStatus(own map[string]any, final change.Set) (change.Set, error) {
	if _, ok := r.Kind.Subresource("status"); !ok || r.Subresource != "" {
		return final, nil
	}
	observed, err := r.compare(own)
	if err != nil {
		return nil, err
	}
	isStatus := func(c change.Change) bool { return len(c.Path()) > 0 && c.Path()[0].Field == "status" }
	out := slices.DeleteFunc(slices.Clone(final), isStatus)
	for _, c := range change.Answerable(observed, final) {
		if isStatus(c) {
			out = append(out, c)
		}
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
