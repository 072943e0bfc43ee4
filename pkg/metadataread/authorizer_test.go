// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	genericfeatures "k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
)

const (
	metadataAccept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	listAccept     = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	kubectlAccept  = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)

// asked is an authorizer that counts questions and remembers the last verb.
type asked struct {
	decision upstream.Decision
	err      error
	count    int
	verb     string
	upstream.Authorizer
}

func (a *asked) Authorize(_ context.Context, about upstream.Attributes) (upstream.Decision, string, error) {
	a.count++
	a.verb = about.GetVerb()
	return a.decision, "because", a.err
}

func TestFallbackRead(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, genericfeatures.CBORServingAndStorage, true)
	request := func(verb string) upstream.AttributesRecord {
		return upstream.AttributesRecord{User: &user.DefaultInfo{Name: "jane"}, Verb: verb, Resource: "secrets", APIVersion: "v1",
			Namespace: "shop", ResourceRequest: true}
	}
	status, path := request("get"), request("get")
	status.Subresource = "status"
	path.ResourceRequest = false
	for name, tc := range map[string]struct {
		attributes upstream.AttributesRecord
		accept     string
		asks       bool
	}{
		"get":                        {request("get"), metadataAccept, true},
		"list":                       {request("list"), listAccept, true},
		"watch":                      {request("watch"), metadataAccept, true},
		"kubectl get":                {request("list"), kubectlAccept, true},
		"kubectl get --watch":        {request("watch"), kubectlAccept, true},
		"CBOR":                       {request("get"), "application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", true},
		"a stream":                   {request("watch"), metadataAccept + ";stream=watch", true},
		"a version of the server":    {request("get"), "application/json;sv=v1;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", true},
		"a stream, named first":      {request("watch"), "application/json;stream=watch;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", true},
		"any order":                  {request("get"), "application/json, " + metadataAccept, true},
		"whole object":               {request("get"), "application/json", false},
		"nothing":                    {request("get"), "", false},
		"the kind of a list":         {request("get"), listAccept, false},
		"the kind of an object":      {request("list"), metadataAccept, false},
		"a list kind for a watch":    {request("watch"), listAccept, false},
		"another kind":               {request("get"), "application/json;as=Secret;g=meta.k8s.io;v=v1", false},
		"another group":              {request("get"), "application/json;as=Table;g=example.com;v=v1", false},
		"another version":            {request("get"), "application/json;as=Table;g=meta.k8s.io;v=v2", false},
		"a media type nobody writes": {request("get"), "text/html;as=Table;g=meta.k8s.io;v=v1", false},
		"subresource":                {status, metadataAccept, false},
		"path":                       {path, metadataAccept, false},
		"create":                     {request("create"), metadataAccept, false},
		"delete":                     {request("delete"), metadataAccept, false},
		"deletecollection":           {request("deletecollection"), listAccept, false},
		"patch":                      {request("patch"), metadataAccept, false},
		"proxy":                      {request("proxy"), metadataAccept, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, decision := range []upstream.Decision{upstream.DecisionAllow, upstream.DecisionNoOpinion, upstream.DecisionDeny} {
				configured := &asked{decision: decision}
				reduction, got, _, err := New(configured).FallbackRead(t.Context(), &tc.attributes, tc.accept)
				if err != nil {
					t.Error(err)
				}
				if asks := configured.count == 1 && configured.verb == "readmetadata"; asks != tc.asks || configured.count > 1 {
					t.Errorf("asked %d times, last about %q; wanted a question: %t", configured.count, configured.verb, tc.asks)
				}
				want := tc.asks && decision == upstream.DecisionAllow
				if (got == upstream.DecisionAllow) != want || (reduction != nil) != want {
					t.Errorf("%v for %v, with reduction: %t", got, decision, reduction != nil)
				}
			}
		})
	}
}

func TestFallbackReadIsOff(t *testing.T) {
	var off *Authorizer
	a := &upstream.AttributesRecord{Verb: "get", Resource: "secrets", ResourceRequest: true}
	if _, got, _, err := off.FallbackRead(t.Context(), a, metadataAccept); got != upstream.DecisionNoOpinion || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFallbackReadHidesErrors(t *testing.T) {
	a := &upstream.AttributesRecord{User: &user.DefaultInfo{Name: "jane"}, Verb: "get", Resource: "secrets", ResourceRequest: true}
	configured := &asked{decision: upstream.DecisionNoOpinion, err: errors.New("10.0.0.1 refused the connection")}
	if _, got, _, err := New(configured).FallbackRead(t.Context(), a, metadataAccept); got != upstream.DecisionNoOpinion || err != errUnanswered {
		t.Errorf("%v, %v", got, err)
	}
}

// TestRefusedReadsAllocateNothing checks that a caller who is refused the data, and does not ask for
// metadata, costs no more than upstream.
func TestRefusedReadsAllocateNothing(t *testing.T) {
	r, ctx := New(&asked{}), t.Context()
	var a upstream.Attributes = &upstream.AttributesRecord{Verb: "list", Resource: "secrets", ResourceRequest: true}
	if n := testing.AllocsPerRun(100, func() {
		_, _, _, _ = r.FallbackRead(ctx, a, "application/vnd.kubernetes.protobuf,application/json")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
