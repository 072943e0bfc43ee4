// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/pkg/included"
)

type acceptKey struct{}

// metadataOf makes a read ask for the metadata alone. The server first asks for the ordinary verb of the
// read, and then for readmetadata.
func metadataOf(r *request) {
	kind, send := "PartialObjectMetadata", r.send
	if r.verbs[0] == "list" {
		kind += "List"
	}
	r.verbs, r.metadata = append(r.verbs, included.MetadataVerb), true
	r.send = func(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return send(context.WithValue(ctx, acceptKey{}, "application/json;as="+kind+";g=meta.k8s.io;v=v1"), client)
	}
}

// accepting sends each request with the Accept header that its context names, if it names one. Clients for
// any kind always ask for whole objects.
func accepting(next http.RoundTripper) http.RoundTripper { return acceptingTransport{next} }

type acceptingTransport struct{ next http.RoundTripper }

func (a acceptingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if accept, ok := req.Context().Value(acceptKey{}).(string); ok {
		req = utilnet.CloneRequest(req)
		req.Header.Set("Accept", accept)
	}
	return a.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport that it closes.
func (a acceptingTransport) WrappedRoundTripper() http.RoundTripper { return a.next }
