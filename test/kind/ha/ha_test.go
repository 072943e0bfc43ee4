// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// as sends a write that the writer is allowed to the server of one node, on a label besides the
// one that counts up.
func (s *set) as(t *testing.T, node int, w *writer) error {
	t.Helper()
	config := rest.CopyConfig(s.config)
	config.Host, config.Impersonate.UserName = s.hosts[node], w.name
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"metadata":{"labels":{"` + w.name + `.ha/direct":"` + s.nodes[node] + `"}}}`)
	_, err = client.CoreV1().ConfigMaps(namespace).Patch(t.Context(), w.name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// TestRollingRestarts turns the gate on, off and on again, one server after the other, under
// load. While the servers differ, a granular caller may be refused with upstream's message. An
// ordinary caller is never refused.
func TestRollingRestarts(t *testing.T) {
	s := open(t)
	s.all(t, true)
	l := start(t, s, 6, 3)
	for _, on := range []bool{false, true, false, true} {
		l.skewed(true)
		for node := range s.nodes {
			s.gate(t, node, on)
			t.Logf("%s: gate %t", s.nodes[node], on)
			l.progress(t, s, "after "+s.nodes[node]+" has changed", ordinary)
		}
		if on {
			l.progress(t, s, "once all servers have the gate on", everybody)
			l.skewed(false)
			l.progress(t, s, "with all servers alike", everybody)
		}
	}
	l.check(t)
}

// all sets the gate on every server whose manifest has another value.
func (s *set) all(t *testing.T, on bool) {
	t.Helper()
	for node := range s.nodes {
		want := map[bool]string{false: "GranularAuthorization=false", true: "GranularAuthorization=true"}[on]
		if s.on(t, node, "grep -c "+want+" "+manifests+"kube-apiserver.yaml || true") == "0\n" {
			s.gate(t, node, on)
		}
	}
}

// TestServerKilled kills each server in turn. The other servers must go on, and the killed one
// must come back.
func TestServerKilled(t *testing.T) {
	s := open(t)
	s.all(t, true)
	l := start(t, s, 6, 3)
	for node := range s.nodes {
		s.on(t, node, "pkill -9 -x kube-apiserver")
		l.progress(t, s, "with one server gone", everybody)
		s.ready(t, node)
	}
	l.progress(t, s, "with all servers back", everybody)
	l.check(t)
}

// TestEtcdMemberStopped stops one etcd member. The server on its node uses no other member, so
// it stops working too.
func TestEtcdMemberStopped(t *testing.T) {
	s := open(t)
	s.all(t, true)
	l := start(t, s, 6, 3)
	s.on(t, 1, "mv "+manifests+"etcd.yaml /etc/kubernetes/etcd.away")
	t.Cleanup(func() {
		s.on(t, 1, "[ ! -e /etc/kubernetes/etcd.away ] || mv /etc/kubernetes/etcd.away "+manifests+"etcd.yaml")
	})
	s.until(t, "the member ends", func(context.Context) bool { return s.on(t, 1, "pgrep -cx etcd || true") == "0\n" })
	l.progress(t, s, "with two members", everybody)
	l.progress(t, s, "with two members, still", everybody)
	s.on(t, 1, "mv /etc/kubernetes/etcd.away "+manifests+"etcd.yaml")
	s.ready(t, 1)
	l.progress(t, s, "with three members", everybody)
	l.check(t)
}

// TestEtcdMemberCutOff cuts one etcd member off from the others. Its server must refuse to
// write, and must not write to an old state.
func TestEtcdMemberCutOff(t *testing.T) {
	s := open(t)
	s.all(t, true)
	l := start(t, s, 6, 3)
	const rules = "for d in INPUT OUTPUT; do for p in sport dport; do iptables %s $d -p tcp --$p 2380 -j DROP; done; done"
	s.on(t, 2, fmt.Sprintf(rules, "-I"))
	t.Cleanup(func() { s.on(t, 2, fmt.Sprintf(rules, "-D")+" 2>/dev/null || true") })
	s.until(t, "its server is not ready", func(ctx context.Context) bool {
		_, err := s.direct[2].RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err != nil
	})
	l.progress(t, s, "with a member cut off", everybody)
	if err := l.through(t, s.direct[2]); err == nil {
		t.Error("a server wrote whose etcd member has no majority")
	}
	s.on(t, 2, fmt.Sprintf(rules, "-D"))
	s.ready(t, 2)
	l.progress(t, s, "with all members joined again", everybody)
	l.check(t)
}

// TestEtcdDiskFull moves an etcd member to a disk of 400 MB and fills it. The member may stop,
// but no acknowledged write may be lost, and the member must work again when the disk has
// space.
func TestEtcdDiskFull(t *testing.T) {
	s := open(t)
	s.all(t, true)
	l := start(t, s, 6, 3)
	const away, back = "mv " + manifests + "etcd.yaml /etc/kubernetes/etcd.away", "[ ! -e /etc/kubernetes/etcd.away ] || mv /etc/kubernetes/etcd.away " + manifests + "etcd.yaml"
	gone := func(context.Context) bool { return s.on(t, 0, "pgrep -cx etcd || true") == "0\n" }
	s.on(t, 0, away)
	s.until(t, "the member ends", gone)
	s.on(t, 0, `mkdir -p /small; mount -t tmpfs -o size=400m,mode=700 none /small; cp -a /var/lib/etcd/. /small/; mount --bind /small /var/lib/etcd; `+back)
	t.Cleanup(func() {
		s.on(t, 0, "rm -f /small/filler; "+back)
	})
	s.ready(t, 0)
	s.on(t, 0, "dd if=/dev/zero of=/small/filler bs=1M 2>/dev/null || true")
	l.progress(t, s, "with a member's disk full", everybody)
	l.progress(t, s, "with a member's disk full, still", everybody)
	s.on(t, 0, "rm -f /small/filler")
	s.ready(t, 0)
	l.progress(t, s, "with room again", everybody)
	l.check(t)
	// Move the member back to the disk of its node.
	s.on(t, 0, away)
	s.until(t, "the member ends", gone)
	s.on(t, 0, `umount /var/lib/etcd; find /var/lib/etcd -mindepth 1 -delete; cp -a /small/. /var/lib/etcd/; umount /small; `+back)
	s.ready(t, 0)
}
