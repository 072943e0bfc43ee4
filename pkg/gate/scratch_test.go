// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"sync"
	"testing"

	core "k8s.io/kubernetes/pkg/apis/core"
)

// TestScratchApart checks that comparisons of one kind do not mix up their objects, whether they
// run concurrently or in sequence.
func TestScratchApart(t *testing.T) {
	target := podTarget(t)
	pod := func(change func(p *core.Pod)) *core.Pod {
		p := &core.Pod{}
		p.Name, p.UID = "p", "1"
		change(p)
		return p
	}
	plain := pod(func(*core.Pod) {})
	cases := map[string]*core.Pod{
		"":                    pod(func(*core.Pod) {}),
		".metadata.labels[a]": pod(func(p *core.Pod) { p.Labels = map[string]string{"a": ""} }),
		".spec":               pod(func(p *core.Pod) { p.Spec.HostNetwork = true }),
	}
	kind := kindOf(target)
	var all sync.WaitGroup
	for want, changed := range cases {
		all.Go(func() {
			for range 200 {
				set, err := kind.compare(target, 1, changed, plain)
				if err != nil {
					t.Error(err)
				}
				got := ""
				if len(set) > 0 {
					got = set[0].Path().String()
				}
				if len(set) > 1 || got != want {
					t.Errorf("%v, wanted %q", set, want)
				}
			}
		})
	}
	all.Wait()
}
