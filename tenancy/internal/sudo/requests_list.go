// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/kubectl"
)

// list prints the requests: those that wait first, then those that give sudo, then the others, the newest
// of each first.
func (r *requester) list(ctx context.Context, cmd *cobra.Command) error {
	args := []string{"get", requestResource, "--namespace", r.namespace}
	if r.all {
		args = []string{"get", requestResource, "--all-namespaces"}
	}
	switch r.output {
	case "json", "yaml":
		code, err := r.Run(ctx, r.In, r.Out, r.ErrOut, append(append(slices.Clone(r.Global), args...), "--output", r.output)...)
		if err == nil && code != 0 {
			err = fmt.Errorf("kubectl get %s failed", requestResource)
		}
		return err
	case "", "wide":
	default:
		return kubectl.UsageError(cmd, fmt.Errorf("--output %q: want wide, json or yaml", r.output))
	}
	out, err := r.Output(ctx, append(args, "--output", "json")...)
	if err != nil {
		return err
	}
	all := v1alpha1.SudoRequestList{}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return err
	}
	rank := func(q v1alpha1.SudoRequest) int {
		switch {
		case q.Status.State.IsFinal():
			return 2
		case q.Status.State == v1alpha1.RequestGranted:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all.Items, func(a, b v1alpha1.SudoRequest) int {
		return cmp.Or(rank(a)-rank(b), b.CreationTimestamp.Compare(a.CreationTimestamp.Time))
	})
	page := printing.NewPage(r.Out, r.output == "wide")
	if len(all.Items) == 0 {
		return printing.Fprintf(page, "no requests for sudo\n")
	}
	header := []string{"NAME", "WHO", "FOR", "STATE", "UNTIL", "DECIDED BY", "AGE", "REASON"}
	if r.all {
		header = append([]string{"TENANT"}, header...)
	}
	var rows [][]string
	for _, q := range all.Items {
		author := ""
		if q.Spec.Decision != nil {
			author = q.Spec.Decision.Author.Username
		}
		row := []string{q.Name, q.Spec.Requester.Username, string(q.Spec.Duration), string(cmp.Or(q.Status.State, v1alpha1.RequestPending)),
			ending(q), author, age(q.CreationTimestamp), q.Spec.Reason}
		if r.all {
			row = append([]string{q.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	if err := page.Table(header, rows); err != nil {
		return err
	}
	return page.Close()
}

func age(at metav1.Time) string { return duration.HumanDuration(time.Since(at.Time)) }
