// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const namespace = "ha"

// load is a number of writers, each with a ConfigMap of its own.
type load struct {
	admin   *kubernetes.Clientset
	writers []*writer
	all     sync.WaitGroup
	stop    context.CancelFunc
}

// writer counts up a label on its ConfigMap. No other client writes this label, so the stored
// number is the last acknowledged one, or one that was sent later.
type writer struct {
	name     string
	granular bool
	client   *kubernetes.Clientset

	mu           sync.Mutex
	sent, acked  int
	taken        int // acknowledged writes
	unanswered   int
	skew         int      // refusals with upstream's message, as by a server with the gate off
	unexplained  []string // refusals without an explanation
	wronglyTaken []string
	skewAllowed  bool // true while some server may have the gate off
}

// start creates the objects and starts the writers. Each granular writer may set the labels of
// one domain.
func start(t *testing.T, s *set, granular, ordinary int) *load {
	t.Helper()
	admin, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	s.clean(t, admin, namespace)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l := &load{admin: admin}
	for i := range granular + ordinary {
		w := &writer{name: fmt.Sprintf("writer-%d", i), granular: i < granular}
		verbs := []string{"get", "update", "patch"}
		if w.granular {
			verbs = []string{"get", "granular", "granular:label(" + w.name + ".ha)"}
		}
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{w.name}, Verbs: verbs,
		}}}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: w.name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: w.name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.name}},
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: w.name},
			Data: map[string]string{"closed": "as it was"}}
		_, err1 := admin.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
		_, err2 := admin.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{})
		_, err3 := admin.CoreV1().ConfigMaps(namespace).Create(t.Context(), cm, metav1.CreateOptions{})
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		config := rest.CopyConfig(s.config)
		config.Impersonate.UserName = w.name
		// Each writer has a connection of its own, like a separate program.
		config.Dial = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
		if w.client, err = kubernetes.NewForConfig(config); err != nil {
			t.Fatal(err)
		}
		l.writers = append(l.writers, w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l.stop = cancel
	t.Cleanup(func() { cancel(); l.all.Wait() })
	for _, w := range l.writers {
		// Several writes in a row succeed once every server knows the roles.
		s.until(t, w.name+" may write", func(ctx context.Context) bool {
			return w.write(ctx, 0) == nil && w.write(ctx, 0) == nil && w.write(ctx, 0) == nil
		})
		l.all.Go(func() { w.run(ctx) })
	}
	return l
}

func (w *writer) write(ctx context.Context, n int) error {
	body := fmt.Sprintf(`{"metadata":{"labels":{"%s.ha/step":"%d"}}}`, w.name, n)
	_, err := w.client.CoreV1().ConfigMaps(namespace).Patch(ctx, w.name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}

// run writes until it is stopped. Every fifth write of a granular writer changes a field that
// no server may let it change.
func (w *writer) run(ctx context.Context) {
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
		if w.granular && n%5 == 0 {
			_, err := w.client.CoreV1().ConfigMaps(namespace).Patch(ctx, w.name, types.MergePatchType,
				[]byte(fmt.Sprintf(`{"data":{"closed":"written %d"}}`, n)), metav1.PatchOptions{})
			w.mu.Lock()
			if err == nil {
				w.wronglyTaken = append(w.wronglyTaken, fmt.Sprintf("write %d", n))
			}
			w.mu.Unlock()
			continue
		}
		w.mu.Lock()
		w.sent = n
		w.mu.Unlock()
		err := w.write(ctx, n)
		w.mu.Lock()
		switch {
		case err == nil:
			w.acked = n
			w.taken++
		case ctx.Err() != nil:
		case apierrors.IsForbidden(err) && w.granular && w.skewAllowed && !strings.Contains(err.Error(), "needs one of"):
			w.skew++
		case apierrors.IsForbidden(err):
			w.unexplained = append(w.unexplained, err.Error())
		default:
			w.unanswered++ // lost connection, timeout or no leader: the write may be stored or not
		}
		w.mu.Unlock()
	}
}

// skewed sets whether some server may have the gate off, and so may refuse granular writers.
func (l *load) skewed(may bool) {
	for _, w := range l.writers {
		w.mu.Lock()
		w.skewAllowed = may
		w.mu.Unlock()
	}
}

// progress waits until each of the chosen writers has had a new write acknowledged.
func (l *load) progress(t *testing.T, s *set, when string, which func(*writer) bool) {
	t.Helper()
	for _, w := range l.writers {
		if !which(w) {
			continue
		}
		w.mu.Lock()
		from := w.sent
		w.mu.Unlock()
		s.until(t, fmt.Sprintf("%s writes %s", w.name, when), func(context.Context) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.acked > from
		})
	}
}

func everybody(*writer) bool  { return true }
func ordinary(w *writer) bool { return !w.granular }

// check stops the writers and compares what was acknowledged with what is stored.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.stop()
	l.all.Wait()
	taken, skew, unanswered := 0, 0, 0
	for _, w := range l.writers {
		cm, err := l.admin.CoreV1().ConfigMaps(namespace).Get(t.Context(), w.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var stored int
		if _, err := fmt.Sscan(cm.Labels[w.name+".ha/step"], &stored); err != nil {
			t.Errorf("%s: %v in %v", w.name, err, cm.Labels)
		}
		if stored < w.acked || stored > w.sent {
			t.Errorf("%s: %d is stored, %d was acknowledged and %d the last sent", w.name, stored, w.acked, w.sent)
		}
		if cm.Data["closed"] != "as it was" || len(w.wronglyTaken) > 0 {
			t.Errorf("%s: a closed field is %q; taken: %q", w.name, cm.Data["closed"], w.wronglyTaken)
		}
		if len(w.unexplained) > 0 {
			t.Errorf("%s: %d refusals that nothing explains, the first: %s", w.name, len(w.unexplained), w.unexplained[0])
		}
		taken, skew, unanswered = taken+w.taken, skew+w.skew, unanswered+w.unanswered
	}
	t.Logf("%d writers: %d writes acknowledged, %d refused by a server with the gate off, %d without an answer", len(l.writers), taken, skew, unanswered)
}

// through creates an object through one server, as the administrator, with a short timeout.
func (l *load) through(t *testing.T, client *kubernetes.Clientset) error {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "through-"}}
	_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, cm, metav1.CreateOptions{})
	return err
}
