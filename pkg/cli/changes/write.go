// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/pkg/cli/kinds"
)

// Manager is the field manager of --apply.
const Manager = "kubectl-granular"

// Write applies an object for --apply. It does not force conflicts.
func Write(ctx context.Context, client Sender, k *kinds.Kind, namespace, name string, object runtime.Object) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	request := Request{Kind: k, Namespace: namespace, Name: name}
	err = request.locate(client.Patch(types.ApplyPatchType), true).Param("fieldManager", Manager).Body(body).Do(ctx).Error()
	if apierrors.IsConflict(err) {
		return fmt.Errorf("another field manager owns it; choose another --name: %w", err)
	}
	return err
}

// Get returns an object, or nil if it does not exist.
func Get(ctx context.Context, client Sender, k *kinds.Kind, namespace, name string) (map[string]any, error) {
	request := Request{Kind: k, Namespace: namespace, Name: name}
	object, err := request.get(ctx, client)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

func (r *Request) get(ctx context.Context, client Sender) (map[string]any, error) {
	return decodeResult(r.locate(client.Get(), true).SetHeader("Accept", "application/json").Do(ctx))
}
