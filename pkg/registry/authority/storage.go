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

// prefix is where objects are stored, below the prefix of the server. Custom resources are
// stored below GROUP/PLURAL, and a definition needs a group with a dot in it. So no
// definition, whatever its group, reads, writes or, when it is deleted, removes what is here.
const prefix = "kube-granular/authority/"

// jsonOptions are the options of the server, with which objects of the group are stored as
// JSON of v1alpha1. Our types have no protobuf, which is the default. What depends on the
// resource stays as the server has it, encryption at rest above all.
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
	options.StorageConfig, options.ResourcePrefix = &config, prefix+resource.Resource
	return options, nil
}

// withoutProtobuf is what the group negotiates bodies with: who asks for nothing but
// protobuf gets 406, and who offers others too gets one of those.
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
