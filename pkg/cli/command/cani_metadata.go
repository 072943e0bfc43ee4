// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/included"
)

// What a caller reads who asks for metadata.
const (
	wholeObjects = "whole objects"
	metadataOnly = "metadata"
	nothing      = "nothing"
)

// metadataAnswer is what a caller reads of a resource, or of one object.
type metadataAnswer struct {
	Object string `json:"object"`
	// Requests has an entry for each verb of a read.
	Requests []metadataRequest `json:"requests"`
	// Server is what the server answered to a get or a list of the metadata.
	Server access.ServerAnswer `json:"server"`
}

type metadataRequest struct {
	Verb string `json:"verb"`
	// Reads is wholeObjects, metadataOnly or nothing, By the verb, and Reason that of the authorizer.
	Reads  string `json:"reads"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// canIReadMetadata prints what the caller reads of RESOURCE or RESOURCE/NAME.
func (s *options) canIReadMetadata(ctx context.Context, what string, quiet bool, format *output.Flag) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	resource, name, _ := strings.Cut(what, "/")
	k, err := c.Served(resource)
	if err != nil {
		return err
	}
	target := access.Target{Group: k.Resource.Group, Version: k.Resource.Version, Resource: k.Resource.Resource, Name: name}
	if k.Namespaced {
		if target.Namespace, _, err = s.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return err
		}
	}
	answer, err := s.metadataAnswer(ctx, target)
	if err != nil {
		return err
	}
	answer.Object = what
	if !quiet {
		if err := format.Print(s.streams.Out, answer, func(page *printing.Page) error { return answer.table(page) }); err != nil {
			return err
		}
	}
	if !answer.Server.Allowed {
		return ErrNo
	}
	return nil
}

func (s *options) metadataAnswer(ctx context.Context, target access.Target) (*metadataAnswer, error) {
	asking, err := connect(s.flags.ToRESTConfig, authorizationclient.NewForConfig)
	if err != nil {
		return nil, err
	}
	reviews, out := access.NewReviews(asking), &metadataAnswer{}
	verbs := []string{"list", "watch"}
	if target.Name != "" {
		verbs = []string{"get"}
	}
	for _, verb := range verbs {
		one, err := readsBy(ctx, reviews, verb, target)
		if err != nil {
			return nil, err
		}
		out.Requests = append(out.Requests, one)
	}
	client, err := connect(s.flags.ToRESTConfig, metadata.NewForConfig)
	if err != nil {
		return nil, err
	}
	resource := schema.GroupVersionResource{Group: target.Group, Version: target.Version, Resource: target.Resource}
	objects := client.Resource(resource).Namespace(target.Namespace)
	if target.Name != "" {
		_, err = objects.Get(ctx, target.Name, metav1.GetOptions{})
	} else {
		_, err = objects.List(ctx, metav1.ListOptions{Limit: 1})
	}
	switch {
	case err == nil || apierrors.IsNotFound(err):
		out.Server.Allowed = true
	case apierrors.IsForbidden(err):
		out.Server.Message = err.Error()
	default:
		return nil, err
	}
	return out, nil
}

// readsBy returns what the caller reads by a verb. The verb readmetadata counts only if no authorizer has an
// opinion about the ordinary verb: a Deny is final.
func readsBy(ctx context.Context, reviews *access.Reviews, verb string, target access.Target) (metadataRequest, error) {
	held, err := reviews.Ask(ctx, verb, target)
	switch {
	case err != nil:
		return metadataRequest{}, err
	case held.Allowed:
		return metadataRequest{Verb: verb, Reads: wholeObjects, By: verb, Reason: held.Reason}, nil
	case held.Denied:
		return metadataRequest{Verb: verb, Reads: nothing, Reason: held.Reason}, nil
	}
	if held, err = reviews.Ask(ctx, included.MetadataVerb, target); err != nil || !held.Allowed {
		return metadataRequest{Verb: verb, Reads: nothing}, err
	}
	return metadataRequest{Verb: verb, Reads: metadataOnly, By: included.MetadataVerb, Reason: held.Reason}, nil
}

func (a *metadataAnswer) table(page *printing.Page) error {
	var rows [][]string
	for _, one := range a.Requests {
		rows = append(rows, []string{one.Verb, one.Reads, orNone(one.By), orNone(bindingOf(one.Reason))})
	}
	if err := page.Table([]string{"REQUEST", "READS", "BY", "BINDING"}, rows); err != nil {
		return err
	}
	if a.Server.Allowed {
		printing.Fprintf(page, "The server allows it.\n")
		return nil
	}
	printing.Fprintf(page, "The server refuses it: %s\n", a.Server.Message)
	return nil
}
