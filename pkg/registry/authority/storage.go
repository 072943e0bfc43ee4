// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// prefix is the prefix of the keys under which the objects are stored in etcd, after the prefix of
// the server. Custom resources are stored under GROUP/PLURAL, where GROUP must contain a dot, and
// kube-granular contains none. So no CustomResourceDefinition gives access to these objects.
const prefix = "kube-granular/authority/"

// jsonOptions returns the storage options of the server, with one change: objects are stored as
// JSON in the version v1alpha1, because the types do not support protobuf, which is the default.
// All other options for a resource are kept, above all encryption at rest.
type jsonOptions struct{ generic.RESTOptionsGetter }

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o jsonOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := o.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	config := *options.StorageConfig
	config.Codec, config.EncodeVersioner, err = serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  runtime.ContentTypeJSON,
		StorageSerializer: legacyscheme.Codecs,
		StorageVersion:    v1alpha1.SchemeGroupVersion,
		MemoryVersion:     authority.Internal,
		Config:            config.Config,
	})
	if err != nil {
		return options, err
	}
	config.Codec = sharing{config.Codec}
	options.StorageConfig, options.ResourcePrefix = &config, prefix+resource.Resource
	return options, nil
}

// withoutProtobuf removes protobuf from content negotiation. A client that accepts only protobuf
// gets status 406, and other clients get another format.
type withoutProtobuf struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s withoutProtobuf) SupportedMediaTypes() (out []runtime.SerializerInfo) {
	for _, info := range s.NegotiatedSerializer.SupportedMediaTypes() {
		if info.MediaType != runtime.ContentTypeProtobuf {
			out = append(out, info)
		}
	}
	return out
}
