// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const pollInterval = 50 * time.Millisecond

// progressInterval is the time between two messages about what the start waits for.
const progressInterval = 5 * time.Second

// waitReady waits until the /readyz of a program succeeds. It calls waiting periodically with the
// error of the last attempt. If waitReady fails, the returned error includes the error of the last
// attempt.
func waitReady(ctx context.Context, program string, cfg *rest.Config, waiting func(last error)) error {
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	last, told := errors.New("no request was sent"), time.Now()
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if time.Since(told) >= progressInterval {
			told = time.Now()
			waiting(last)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			if ctx.Err() == nil {
				last = err // after the end of ctx, err would only be the error of ctx
			}
			return false, nil
		}
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxReadyzBody))
		_ = response.Body.Close()
		last = fmt.Errorf("it answers %s%s", response.Status, failingChecks(string(body)))
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("%s did not become ready: %w; the last attempt: %w", program, err, last)
	}
	return nil
}

// maxReadyzBody is the maximum number of bytes of a /readyz response that are read.
const maxReadyzBody = 64 << 10

// failingChecks returns a text for messages with the names of the failing checks in a /readyz
// response, or "" if there are none. The line of a failing check begins with "[-]".
func failingChecks(answer string) string {
	var names []string
	for _, line := range strings.Split(answer, "\n") {
		if name, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", which waits for " + strings.Join(names, ", ")
}
