// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"kube-granular.dev/api/selection/transport"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// Access makes clients of the server.
type Access interface {
	// Administrator is a client that may do everything.
	Administrator() (*rest.Config, error)
	// User authenticates as a user with groups, and Token with a token of a service account.
	User(name string, groups ...string) (*rest.Config, error)
	Token(token string) (*rest.Config, error)
}

// Server judges tests, one after the other.
type Server struct {
	access  Access
	kube    kubernetes.Interface
	objects dynamic.Interface
	// warnings are those of the administrator's requests since they were last taken.
	warnings warnings

	// mapper and resources are what the server serves. resources has names such as
	// deployments.apps/scale.
	mapper    meta.RESTMapper
	resources sets.Set[string]
	// exported is set if admission policies and ordinary roles stand in for the roles of the tests.
	exported bool
	// round counts the sentinels.
	round int
	// subjects are the clients of a test, by the subject as JSON.
	subjects map[string]dynamic.Interface
}

// pollInterval and timeout are for conditions of the server. They are met in milliseconds, or in seconds on
// a busy machine.
const (
	pollInterval = 10 * time.Millisecond
	timeout      = 5 * time.Minute
)

// New prepares a server that is ready. If exported is set, the server is a stock one, and what an export writes stands in for
// the roles of the tests.
func New(ctx context.Context, access Access, exported bool) (*Server, error) {
	s := &Server{access: access, exported: exported}
	config, err := access.Administrator()
	if err != nil {
		return nil, err
	}
	config.WarningHandlerWithContext = &s.warnings
	config.Wrap(accepting)
	if s.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if s.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	// A new server creates its namespaces a moment after it is ready.
	if err := until(ctx, "the namespace default exists", func(ctx context.Context) (bool, error) {
		_, err := s.kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	}); err != nil {
		return nil, err
	}
	if err := s.prepareSentinels(ctx); err != nil {
		return nil, err
	}
	return s, s.discover()
}

// until waits for a condition. An error of a busy server or of a lost connection does not end the wait; if the time is over,
// the result has the last one.
func until(ctx context.Context, what string, done wait.ConditionWithContextFunc) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		ok, err := done(ctx)
		if ctx.Err() == nil && passes(err) {
			last = err
			return false, nil
		}
		return ok, err
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w", what, errors.Join(err, last))
	}
	return nil
}

// passes reports whether the same request may succeed later.
func passes(err error) bool {
	if err == nil {
		return false
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsConflict(err) ||
		utilnet.IsTimeout(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsProbableEOF(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// discover reads what the server serves.
func (s *Server) discover() error {
	groups, err := restmapper.GetAPIGroupResources(s.kube.Discovery())
	if err != nil {
		return fmt.Errorf("discover the resources of the server: %w", err)
	}
	s.mapper, s.resources = restmapper.NewDiscoveryRESTMapper(groups), sets.New[string]()
	for _, group := range groups {
		for _, resources := range group.VersionedResources {
			for _, r := range resources {
				s.resources.Insert(kinds.Qualified(group.Group.Name, r.Name))
			}
		}
	}
	return nil
}

// client returns the client of a subject, which authenticates as the subject.
func (s *Server) client(ctx context.Context, subject *format.Subject) (dynamic.Interface, error) {
	// The text of a subject is for people, and names could make two texts equal.
	key, err := json.Marshal(subject)
	if err != nil {
		return nil, err
	}
	if client := s.subjects[string(key)]; client != nil {
		return client, nil
	}
	config, err := s.config(ctx, subject)
	if err != nil {
		return nil, err
	}
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(accepting)
	switch {
	case subject.Stamp != nil:
		selected, err := s.stamped(ctx, subject.Stamp)
		if err != nil {
			return nil, err
		}
		config.Wrap(transport.Always(selected))
	case subject.Selects != nil:
		config.Wrap(transport.Always(subject.Selects.Selection()))
	}
	client, err := dynamic.NewForConfig(config)
	if err == nil {
		s.subjects[string(key)] = client
	}
	return client, err
}

func (s *Server) config(ctx context.Context, subject *format.Subject) (*rest.Config, error) {
	if subject.ServiceAccount == "" {
		return s.access.User(subject.User, subject.Groups...)
	}
	namespace, name := split(subject.ServiceAccount)
	answer, err := s.kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the service account %s is not in given", subject.ServiceAccount)
	} else if err != nil {
		return nil, fmt.Errorf("token of the service account %s: %s", subject.ServiceAccount, reason(err))
	}
	return s.access.Token(answer.Status.Token)
}

// namespace is the namespace of the sentinels.
const sentinelNamespace = "kube-granular-test"

func newNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
