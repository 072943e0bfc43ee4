// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// Account is the name of a service account.
type Account struct{ Namespace, Name string }

func (a Account) String() string { return a.Namespace + "/" + a.Name }

// ParseAccount parses NAMESPACE/NAME.
func ParseAccount(text string) (Account, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return Account{}, fmt.Errorf("%q is not the NAMESPACE/NAME of a service account", text)
	}
	return Account{namespace, name}, nil
}

// ParseRole parses clusterrole/NAME or role/NAME.
func ParseRole(text string) (*v1alpha1.DelegatedRole, error) {
	kind, name, _ := strings.Cut(text, "/")
	known := map[string]string{"clusterrole": "ClusterRole", "role": "Role"}[strings.ToLower(kind)]
	if known == "" || name == "" {
		return nil, fmt.Errorf("%q is not clusterrole/NAME or role/NAME", text)
	}
	return &v1alpha1.DelegatedRole{Kind: known, Name: name}, nil
}

// Terms are what is lent, to whom, and for how long.
type Terms struct {
	Role *v1alpha1.DelegatedRole
	// Scope is where the authority is valid.
	Scope   v1alpha1.DelegationScope
	Account Account
	Until   time.Time
	// Reason is why, or empty.
	Reason string
	// CreateNamespace is true if the namespace of the account is created if there is none.
	CreateNamespace bool
}

var kindOfDelegations = metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "AuthorityDelegation"}

// objects returns the objects that Make creates. The UID of the account is known only once it exists.
func (t *Terms) objects(uid types.UID) (*corev1.ServiceAccount, *v1alpha1.AuthorityDelegation) {
	off := false
	labels := map[string]string{selection.LentLabel: "true"}
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.Account.Namespace, Name: t.Account.Name, Labels: labels},
		// Pods of the account get no token by default: the kubeconfig has one.
		AutomountServiceAccountToken: &off,
	}
	d := &v1alpha1.AuthorityDelegation{
		TypeMeta:   kindOfDelegations,
		ObjectMeta: metav1.ObjectMeta{GenerateName: generatedName(t.Account), Labels: labels},
		Spec: v1alpha1.AuthorityDelegationSpec{
			Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: t.Account.Namespace, Name: t.Account.Name, UID: uid}},
			RoleRef:   t.Role, Scope: t.Scope, ExpirationTimestamp: &metav1.Time{Time: t.Until.Truncate(time.Second)},
		},
	}
	if t.Reason != "" {
		d.Annotations = map[string]string{selection.ReasonAnnotation: t.Reason}
	}
	return account, d
}

// generatedName returns the beginning of the name of a delegation, short enough for the random part.
func generatedName(a Account) string {
	name := "lent-" + a.Namespace + "-" + a.Name
	return strings.TrimRight(name[:min(len(name), 200)], "-.") + "-"
}

// Objects returns the objects that Make would create, as they are known before.
func (t *Terms) Objects() []any {
	account, d := t.objects("")
	if t.CreateNamespace {
		return []any{t.namespace(), account, d}
	}
	return []any{account, d}
}

func (t *Terms) namespace() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Account.Namespace},
	}
}
