// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// Each visits all objects of a list, such as client.Pods("").List, until visit returns an error. It reads only one page
// ahead, because pages can be large.
func Each[L runtime.Object, O any](
	ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), visit func(O) error,
) error {
	all := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	})
	all.PageBufferSize = 0
	return all.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		o, ok := object.(O)
		if !ok {
			return fmt.Errorf("the server sent a %T", object)
		}
		return visit(o)
	})
}
