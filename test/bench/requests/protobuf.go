// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const protobufBody = runtime.ContentTypeProtobuf

// protobufOf is the protobuf encoding of a built-in kind, in which controllers write objects.
type protobufOf schema.GroupVersionKind

var wire = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

func (kind protobufOf) encode(object any) ([]byte, error) {
	typed, err := scheme.Scheme.New(schema.GroupVersionKind(kind))
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.(map[string]any), typed); err != nil {
		return nil, err
	}
	typed.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind(kind))
	var out bytes.Buffer
	err = wire.Encode(typed, &out)
	return out.Bytes(), err
}

func (kind protobufOf) decode(answer []byte) (map[string]any, error) {
	gvk := schema.GroupVersionKind(kind)
	typed, _, err := wire.Decode(answer, &gvk, nil)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
}

// putProtobuf is like put, but sends and receives protobuf.
func putProtobuf(kind schema.GroupVersionKind) func(path string) stream {
	return func(path string) stream {
		s := put(path)
		s.method, s.contentType, s.encoding = http.MethodPut, protobufBody, protobufOf(kind)
		return s
	}
}
