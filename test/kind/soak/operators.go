// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// prepare creates the namespace, the ConfigMaps for compare, and a deployment and a role for every
// operator. It returns the functions that run the operators.
func (r *run) prepare(ctx context.Context) ([]func(context.Context), error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := r.admin.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	for _, name := range []string{"on", "off"} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := r.admin.CoreV1().ConfigMaps(namespace).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	valves, err := r.valves(ctx)
	if err != nil {
		return nil, fmt.Errorf("valves: %w", err)
	}
	r.valve = valves
	var operators []func(context.Context)
	for i := range r.operators {
		name := fmt.Sprintf("op-%d", i)
		client, err := r.operator(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		operators = append(operators, func(ctx context.Context) { r.operate(ctx, name, client) })
	}
	return operators, nil
}

// operator creates a deployment, a service account and its role, and returns a client of the
// account.
func (r *run) operator(ctx context.Context, name string) (*kubernetes.Clientset, error) {
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					Containers:                    []corev1.Container{{Name: "hello", Image: "docker.io/kube-granular/hello:v1"}},
				},
			},
		},
	}
	if _, err := r.admin.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if err := r.account(ctx, name); err != nil {
		return nil, err
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{{
			APIGroups:     []string{"apps"},
			Resources:     []string{"deployments", "deployments/status", "deployments/scale"},
			ResourceNames: []string{name},
			Verbs:         []string{"get", "granular", "granular:label(" + name + ".soak)", "granular:condition(Soaked)", "granular:replicas"},
		}},
	}
	if _, err := r.admin.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	config, err := r.bound(ctx, name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// valves creates the operator that may set one field of the churned custom resources, and
// returns its client.
func (r *run) valves(ctx context.Context) (dynamic.Interface, error) {
	const name = "valves"
	if err := r.account(ctx, name); err != nil {
		return nil, err
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"soak.example.com"}, Resources: []string{"*"}, Verbs: []string{"granular", "granular:soak.example.com/valve"},
		}},
	}
	if _, err := r.admin.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	config, err := r.bound(ctx, name)
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

func (r *run) account(ctx context.Context, name string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := r.admin.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	return err
}

// bound binds the service account to the role of the same name, and returns its client
// configuration.
func (r *run) bound(ctx context.Context, name string) (*rest.Config, error) {
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}},
	}
	if _, err := r.admin.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	lifetime := int64((r.duration + time.Hour).Seconds())
	token, err := r.admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(r.config)
	config.BearerToken, config.QPS = token.Status.Token, -1
	return config, nil
}

// operate sends patches of the operator's deployment until ctx ends. The operator has the
// permission for most of them, and the server must refuse the others.
func (r *run) operate(ctx context.Context, name string, client *kubernetes.Clientset) {
	deployments := client.AppsV1().Deployments(namespace)
	patch := func(kind types.PatchType, body string, subresources ...string) error {
		_, err := deployments.Patch(ctx, name, kind, []byte(body), metav1.PatchOptions{}, subresources...)
		return err
	}
	for step := 0; ; step++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.pause):
		}
		switch {
		case step%60 == 30:
			r.wanted(ctx, name+" scales", patch(types.MergePatchType, fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+step/60%2), "scale"))
		case step%3 == 0:
			r.wanted(ctx, name+" labels", patch(types.MergePatchType, fmt.Sprintf(`{"metadata":{"labels":{"%s.soak/step":"s%d"}}}`, name, step)))
		case step%3 == 1:
			r.wanted(ctx, name+" sets its condition", patch(types.StrategicMergePatchType, fmt.Sprintf(
				`{"status":{"conditions":[{"type":"Soaked","status":"True","reason":"Step","message":"step %d"}]}}`, step), "status"))
		case step%2 == 0:
			r.unwanted(ctx, name+" changes an image", patch(types.StrategicMergePatchType,
				`{"spec":{"template":{"spec":{"containers":[{"name":"hello","image":"other"}]}}}}`))
		default:
			r.unwanted(ctx, name+" sets another's label", patch(types.MergePatchType, `{"metadata":{"labels":{"app":"other"}}}`))
		}
	}
}

// wanted counts a write that must be allowed. err is the result of the write. An error is a fault,
// with one exception: callers retry conflicts anyway, so a conflict is only counted.
func (r *run) wanted(ctx context.Context, what string, err error) {
	switch {
	case err == nil:
		r.allowed.Add(1)
	case ctx.Err() != nil:
	case apierrors.IsConflict(err):
		r.retried.Add(1)
	default:
		r.fault("%s: %v", what, err)
	}
}

// unwanted counts a write that must be refused. err is the result of the write. Every result
// except Forbidden is a fault.
func (r *run) unwanted(ctx context.Context, what string, err error) {
	switch {
	case ctx.Err() != nil:
	case apierrors.IsForbidden(err):
		r.refused.Add(1)
	default:
		r.fault("%s: %v, want it forbidden", what, err)
	}
}
