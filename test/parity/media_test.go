// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/yaml"
)

const (
	mediaJSON     = "application/json"
	mediaYAML     = "application/yaml"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
	mediaCBOR     = "application/cbor"
	mediaMerge    = "application/merge-patch+json"
	mediaApply    = "application/apply-patch+yaml"
)

// types has all built-in kinds, for Protocol Buffers.
var types = newTypes()

func newTypes() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	utilruntime.Must(apiregistrationv1.AddToScheme(s))
	utilruntime.Must(metav1.AddMetaToScheme(s))
	return s
}

// format returns the format of a media type, and "" if it is no format of objects.
func format(contentType string) string {
	media, _, _ := mime.ParseMediaType(contentType)
	switch media {
	case mediaJSON, "application/json-patch+json", mediaMerge, "application/strategic-merge-patch+json":
		return mediaJSON
	case mediaYAML, mediaApply:
		return mediaYAML
	case mediaCBOR, "application/apply-patch+cbor":
		return mediaCBOR
	}
	if media == mediaProtobuf {
		return mediaProtobuf
	}
	return ""
}

// decode returns a body as JSON values.
func decode(format string, body []byte) (value any, err error) {
	switch format {
	case mediaJSON:
	case mediaYAML:
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return nil, err
		}
	case mediaProtobuf:
		object, _, err := protobuf.NewSerializer(types, types).Decode(body, nil, nil)
		if err != nil {
			return nil, err
		}
		if body, err = json.Marshal(object); err != nil {
			return nil, err
		}
	case mediaCBOR:
		if err := direct.Unmarshal(body, &value); err != nil {
			return nil, err
		}
		if body, err = json.Marshal(value); err != nil { // numbers as in JSON
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%q is no format", format)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	// Protocol Buffers do not tell an empty list from none.
	if object, ok := value.(map[string]any); ok && format == mediaProtobuf && object["items"] == nil {
		if _, isList := object["items"]; isList {
			object["items"] = []any{}
		}
	}
	return value, err
}

// encode is the reverse of decode.
func encode(format string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	switch format {
	case mediaJSON:
		return text, nil
	case mediaYAML:
		return yaml.JSONToYAML(text)
	case mediaCBOR:
		plain, err := plainNumbers(value)
		if err != nil {
			return nil, err
		}
		return direct.Marshal(plain)
	}
	kind := metav1.TypeMeta{}
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, err
	}
	object, err := types.New(kind.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, err
	}
	out := bytes.Buffer{}
	err = protobuf.NewSerializer(types, types).Encode(object, &out)
	return out.Bytes(), err
}

// plainNumbers returns a value in which numbers are of Go's own types.
func plainNumbers(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, element := range v {
			var err error
			if out[key], err = plainNumbers(element); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			var err error
			if out[i], err = plainNumbers(element); err != nil {
				return nil, err
			}
		}
		return out, nil
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		return v.Float64()
	}
	return value, nil
}
