// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"path"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/test/bench/requests/internal/process"
)

const (
	jsonBody       = "application/json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"

	// touched is the label that requests change.
	touched = "example.com/l0"

	pods        = "/api/v1/namespaces/%s/pods"
	configMaps  = "/api/v1/namespaces/%s/configmaps"
	deployments = "/apis/apps/v1/namespaces/%s/deployments"
	widgets     = "/apis/" + group + "/v1/namespaces/%s/widgets"
)

// operation is a common kind of request.
type operation struct {
	name, collection string
	object           func(name string) metav1.Object
	// stream returns the requests of the operation for an existing object, given its path.
	stream func(path string) stream
}

// put returns requests that send the object of the last answer with one label changed.
func put(path string) stream {
	return stream{method: http.MethodPut, path: path, contentType: jsonBody, status: http.StatusOK, edit: func(live map[string]any, n int) any {
		set(live, fmt.Sprint(n), "metadata", "labels", touched)
		return live
	}}
}

// patch returns requests that patch one label.
func patch(contentType string) func(path string) stream {
	return func(path string) stream {
		return stream{method: http.MethodPatch, path: path, contentType: contentType, status: http.StatusOK, edit: func(_ map[string]any, n int) any {
			label := map[string]any{}
			set(label, fmt.Sprint(n), "metadata", "labels", touched)
			return label
		}}
	}
}

// apply returns server-side apply requests that send all fields that the field manager owns, with
// one label changed.
func apply(object func(string) metav1.Object) func(path string) stream {
	return func(target string) stream {
		applied := object(path.Base(target))
		return stream{method: http.MethodPatch, path: target + "?fieldManager=applier&force=true", contentType: applyPatch, status: http.StatusOK,
			edit: func(_ map[string]any, n int) any {
				applied.GetLabels()[touched] = fmt.Sprint(n)
				return applied
			}}
	}
}

// create returns requests that each create a new object, and do not use the existing one.
func create(collection string, object func(string) metav1.Object) func(path string) stream {
	made := object("")
	made.SetGenerateName("made-")
	return func(string) stream {
		return stream{method: http.MethodPost, path: collection, contentType: jsonBody, status: http.StatusCreated,
			edit: func(map[string]any, int) any { return made }}
	}
}

// operations returns the measured operations in a namespace.
func operations(namespace string) []operation {
	inside := func(collection string) string { return fmt.Sprintf(collection, namespace) }
	return []operation{
		{"PUT ConfigMap", inside(configMaps), configMap, put},
		{"PUT Pod", inside(pods), pod, put},
		{"PUT Deployment", inside(deployments), deployment, put},
		{"PUT custom resource", inside(widgets), widget, put},
		{"merge PATCH Pod", inside(pods), pod, patch(mergePatch)},
		{"strategic PATCH Pod", inside(pods), pod, patch(strategicPatch)},
		{"merge PATCH custom resource", inside(widgets), widget, patch(mergePatch)},
		{"apply Deployment", inside(deployments), deployment, apply(deployment)},
		{"PUT Pod in protobuf", inside(pods), pod, putProtobuf(corev1.SchemeGroupVersion.WithKind("Pod"))},
		{"PUT Deployment in protobuf", inside(deployments), deployment, putProtobuf(appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		{"create ConfigMap", inside(configMaps), configMap, create(inside(configMaps), configMap)},
		{"create Pod", inside(pods), pod, create(inside(pods), pod)},
	}
}

// lane creates atATime objects on a server, and returns a lane that sends the requests of the
// operation: the streams for these objects run at the same time.
func (o operation) lane(ctx context.Context, server *process.Server, user, name string, atATime int) (*lane, error) {
	out := &lane{Case: o.name, Side: server.Name, server: server, client: server.Client(user)}
	for i := range atATime {
		one := name
		if i > 0 {
			one = fmt.Sprintf("%s-%d", name, i)
		}
		live, err := server.Client(process.Administrator).Ensure(ctx, o.collection, one, o.object(one))
		if err != nil {
			return nil, err
		}
		s := o.stream(o.collection + "/" + one)
		s.live = live
		if i == 0 {
			out.stream = &s
		} else {
			out.beside = append(out.beside, &s)
		}
	}
	return out, nil
}
