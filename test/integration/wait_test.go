// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/test/integration/cluster"
)

// waitfor sends a request again and again until the answer matches, for what the
// server takes note of a moment later.
//
//	waitfor USER METHOD PATH TYPE BODY REGEXP
func waitfor(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 6 {
			ts.Fatalf("usage: waitfor USER METHOD PATH TYPE BODY REGEXP")
		}
		want, err := regexp.Compile(args[5])
		if err != nil {
			ts.Fatalf("waitfor: %v", err)
		}
		var last string
		err = wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			status, answer, err := request(c, args[0], args[1], args[2], contentTypes[args[3]], args[4])
			last = strings.Join(strings.Fields(fmt.Sprint(status, " ", answer)), " ")
			return err == nil && want.MatchString(last), err
		})
		if err != nil {
			ts.Fatalf("waitfor %s: %v: the last answer was %s", args[5], err, last)
		}
	}
}
