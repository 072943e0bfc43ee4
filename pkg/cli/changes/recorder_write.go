// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// recordWrite records a request, and answers with the result of a dry run.
func (rec *recorder) recordWrite(w http.ResponseWriter, req *http.Request, path resourcePath) {
	request, err := rec.request(req, path)
	if err != nil {
		rec.refuse(w, err)
		return
	}
	rec.mu.Lock()
	rec.recording.Requests = append(rec.recording.Requests, *request)
	rec.mu.Unlock()
	object, err := Send(req.Context(), rec.runner.Client, *request)
	if apierrors.IsForbidden(err) {
		// The command must continue even if the caller may not write, so that its later requests
		// are recorded too.
		object, err = rec.runner.expectedObject(req, *request, err)
	}
	if err != nil {
		writeResponse(w, statusOf(err))
		return
	}
	writeResponse(w, object)
}

// request converts an HTTP request to a Request. It returns an error if the request does not write
// fields of an object.
func (rec *recorder) request(req *http.Request, path resourcePath) (*Request, error) {
	k, err := rec.runner.Kinds.ForResource(path.Resource)
	if err != nil {
		return nil, err
	}
	out := &Request{Kind: k, Namespace: path.Namespace, Name: path.Name, Subresource: path.Subresource, Query: req.URL.Query()}
	if _, known := k.Subresource(path.Subresource); path.Subresource != "" && !known {
		return nil, fmt.Errorf("%s/%s has no fields that can be authorized; it needs %s", k, path.Subresource,
			ordinaryRole("create", path.Resource.GroupResource(), path.Subresource, path.Namespace))
	}
	media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil && req.Method != http.MethodDelete {
		return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, err)
	}
	switch {
	case req.Method == http.MethodPost && path.Name == "":
		out.Verb = "create"
	case req.Method == http.MethodPut && path.Name != "":
		out.Verb = "update"
	case req.Method == http.MethodPatch && path.Name != "":
		out.Verb, out.PatchType = "patch", types.PatchType(media)
	case req.Method == http.MethodDelete:
		verb := "delete"
		if path.Name == "" {
			verb = "deletecollection"
		}
		return nil, fmt.Errorf("%s of %s changes no fields; it needs %s", req.Method, k,
			ordinaryRole(verb, path.Resource.GroupResource(), path.Subresource, path.Namespace))
	default:
		return nil, fmt.Errorf("%s of %s changes no fields; it needs an ordinary verb and never granular", req.Method, k)
	}
	if out.Body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	if out.Verb != "patch" && media != "application/json" {
		if out.Body, err = asJSON(out.Body); err != nil {
			return nil, fmt.Errorf("%s %s sends %s: %w", req.Method, req.URL.Path, media, err)
		}
	}
	if out.Verb == "create" {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(out.Body, &object); err != nil {
			return nil, err
		}
		out.Name = object.Name
	}
	return out, nil
}

// asJSON converts an object in another encoding, such as protobuf, to JSON.
func asJSON(body []byte) ([]byte, error) {
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	return json.Marshal(object)
}

// expectedObject computes the object that a request asks for, in place of the result of its dry
// run, which the server forbade.
func (r *DryRunner) expectedObject(req *http.Request, request Request, forbidden error) (map[string]any, error) {
	rehearsed, err := r.Run(req.Context(), request)
	if err != nil {
		return nil, forbidden
	}
	return rehearsed.new, nil
}

func (rec *recorder) refuse(w http.ResponseWriter, err error) {
	rec.mu.Lock()
	rec.refused = append(rec.refused, err)
	rec.mu.Unlock()
	writeResponse(w, statusOf(apierrors.NewForbidden(metav1.Unversioned.WithResource("requests").GroupResource(), "", err)))
}

func statusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	s := api.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	return &s
}

func writeResponse(w http.ResponseWriter, object any) {
	code := http.StatusOK
	if s, ok := object.(*metav1.Status); ok {
		code = int(s.Code)
	}
	data, err := json.Marshal(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data)
}
