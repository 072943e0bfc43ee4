// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package naming_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/naming"
)

// counted returns a client with objects that counts the objects of all lists, and calls during for each list.
func counted(t *testing.T, during func(client.ObjectList), objects ...client.Object) (api client.WithWatch, lists func() int) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	count := 0
	counting := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
		mu.Lock()
		count++
		mu.Unlock()
		if during != nil {
			during(list)
		}
		return c.List(ctx, list, o...)
	}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(counting).Build(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

func tenant(i int) *v1alpha1.LNamespace {
	name := fmt.Sprintf("tenant-%d", i)
	return &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
}

// TestSurveysAreShared counts the readings of the server for tenants that wait for their namespaces: one serves
// all that exist when it begins. A tenant that is younger gets another one.
func TestSurveysAreShared(t *testing.T) {
	const waiting = 100
	var objects []client.Object
	for i := range waiting {
		objects = append(objects, tenant(i))
	}
	api, lists := counted(t, nil, objects...)
	surveys := &naming.Surveys{}
	ask := func(uid types.UID) *naming.Survey {
		t.Helper()
		survey, err := surveys.For(t.Context(), api, uid)
		if err != nil {
			t.Fatal(err)
		}
		return survey
	}
	for i := range waiting {
		ask(tenant(i).UID)
	}
	if got := lists(); got != 3 {
		t.Errorf("%d lists for %d tenants", got, waiting)
	}
	// Somebody grants something to the accounts of a namespace, and then somebody creates the LNamespace.
	waits := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "waits"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "tenant-100", Name: "robot"}}}
	for _, object := range []client.Object{waits, tenant(waiting)} {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(tenant(waiting).UID).Claims("tenant-100"); !errors.Is(err, naming.ErrClaimed) {
		t.Errorf("a tenant that is younger than the survey: %v", err)
	}
	// Without a UID, as a webhook asks about what is not stored yet, each survey is new.
	before := lists()
	ask("")
	ask("")
	if got := lists() - before; got != 6 {
		t.Errorf("%d lists for two objects that are not stored", got)
	}
}

// TestSurveysAreNew checks that a survey for several callers has begun after all of them asked, however they race.
//
// Attack: somebody creates an LNamespace of a name for whose service accounts permissions wait, at the moment at which
// another one is checked
// Answer: the check reads what was there before the LNamespace, and refuses the name
// Held by: TestSurveysAreShared
func TestSurveysAreNew(t *testing.T) {
	surveys := &naming.Surveys{}
	reading, release := make(chan bool), make(chan bool)
	var once sync.Once
	api, lists := counted(t, func(list client.ObjectList) {
		if _, last := list.(*rbacv1.RoleBindingList); last {
			once.Do(func() { reading <- true; <-release })
		}
	})
	first := make(chan error, 1)
	go func() {
		_, err := surveys.Fresh(t.Context(), api)
		first <- err
	}()
	<-reading // the LNamespaces and the bindings of the cluster are read
	waits := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "waits"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "ghost", Name: "robot"}}}
	if err := api.Create(t.Context(), waits); err != nil {
		t.Fatal(err)
	}
	const callers = 5
	begun, found := make(chan bool, callers), make(chan error, callers)
	for range callers {
		go func() {
			begun <- true
			survey, err := surveys.Fresh(t.Context(), api)
			if err == nil {
				err = survey.Claims("ghost")
			}
			found <- err
		}()
	}
	for range callers {
		<-begun
	}
	release <- true
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	for range callers {
		if err := <-found; !errors.Is(err, naming.ErrClaimed) {
			t.Errorf("somebody who asked after the binding was made: %v", err)
		}
	}
	if got := lists(); got > 3*(callers+1) {
		t.Errorf("%d lists", got)
	}
}

// TestSurveyFails checks that a list that fails is an error, and never a survey without claims.
func TestSurveyFails(t *testing.T) {
	for _, object := range []client.ObjectList{&v1alpha1.LNamespaceList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}} {
		scheme := runtime.NewScheme()
		if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		api := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if fmt.Sprintf("%T", list) == fmt.Sprintf("%T", object) {
					return broken
				}
				return c.List(ctx, list, o...)
			}}).Build()
		surveys := &naming.Surveys{}
		if survey, err := surveys.For(t.Context(), api, "x"); survey != nil || !errors.Is(err, broken) {
			t.Errorf("%T: %v, %v", object, survey, err)
		}
	}
}
