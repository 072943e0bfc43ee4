// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/util/apihelpers"
)

// The kinds that can be read without data.
const (
	metadataKind     = "PartialObjectMetadata"
	metadataListKind = "PartialObjectMetadataList"
	tableKind        = "Table"
)

// answers has for each verb the kinds to which its result can be converted. A watch of a list kind
// is not among them: upstream would send the whole object.
var answers = map[string][]string{
	"get":   {metadataKind, tableKind},
	"list":  {metadataListKind, tableKind},
	"watch": {metadataKind, tableKind},
}

// answersAs reports whether the result of a verb can be converted to a kind.
func answersAs(verb string, convert *schema.GroupVersionKind) bool {
	if convert == nil || !slices.Contains(answers[verb], convert.Kind) {
		return false
	}
	version := convert.GroupVersion()
	return version == metav1.SchemeGroupVersion || version == metav1beta1.SchemeGroupVersion
}

// acceptsMetadata reports whether an Accept header has an entry by which a handler can answer the
// verb with metadata. The handler decides, because only it knows which entry it chooses.
func acceptsMetadata(verb, accept string) bool {
	if _, read := answers[verb]; !read || !strings.Contains(accept, "as=") {
		return false
	}
	_, found := negotiation.NegotiateMediaTypeOptions(accept, apihelpers.GetMetaInternalVersionCodecs().SupportedMediaTypes(), metadataOnly(verb))
	return found
}

// metadataOnly makes the negotiation skip the entries of an Accept header that do not ask for the
// metadata of a verb's result.
type metadataOnly string

var _ negotiation.EndpointRestrictions = metadataOnly("")

func (verb metadataOnly) AllowsMediaTypeTransform(_, _ string, convert *schema.GroupVersionKind) bool {
	return answersAs(string(verb), convert)
}

func (metadataOnly) AllowsServerVersion(string) bool { return true }
func (metadataOnly) AllowsStreamSchema(string) bool  { return true }

// withoutObjects returns a request for a table whose rows contain metadata instead of whole objects.
// It does not change req.
func withoutObjects(req *http.Request) *http.Request {
	query := req.URL.Query()
	if !slices.Contains(query["includeObject"], string(metav1.IncludeObject)) {
		return req
	}
	query.Set("includeObject", string(metav1.IncludeMetadata))
	out, address := *req, *req.URL
	address.RawQuery = query.Encode()
	out.URL = &address
	return &out
}
