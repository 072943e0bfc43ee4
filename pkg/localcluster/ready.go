// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const pollInterval = 50 * time.Millisecond

// waitReady waits until the server's /readyz passes. The error says what of it
// did not.
func waitReady(ctx context.Context, cfg *rest.Config) error {
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	last := errors.New("it was not asked")
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			if ctx.Err() == nil {
				last = err // else it only says that time is up
			}
			return false, nil
		}
		_ = response.Body.Close()
		last = fmt.Errorf("it answers %s", response.Status)
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("kube-apiserver did not become ready: %w; last: %w", err, last)
	}
	return nil
}
