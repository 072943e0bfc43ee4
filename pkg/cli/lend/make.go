// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityclient "kube-granular.dev/api/client/clientset/versioned/typed/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// Lender makes, lists and ends loans with the permissions of one user.
type Lender struct {
	Client    kubernetes.Interface
	Authority authorityclient.AuthorityV1alpha1Interface
	// Config is the configuration of the clients, from which a kubeconfig gets the address of the server.
	Config *rest.Config
	// Now is time.Now, except in tests.
	Now func() time.Time
}

// Loan is what was made.
type Loan struct {
	Account    Account
	Delegation string
	Token      string
	// Until is when the delegation ends, and TokenUntil when the token expires. A server can shorten the
	// life of tokens. A token that lives longer than the delegation authenticates, and allows nothing.
	Until, TokenUntil time.Time
}

const (
	// shortestToken is the shortest lifetime of a token that a server accepts.
	shortestToken = 10 * time.Minute
	// undoTimeout is how long it may take to remove what was made, in all.
	undoTimeout = 30 * time.Second
	// bindTimeout is how long the server may need to learn of the annotation.
	bindTimeout = 30 * time.Second
)

// undo is a stack of steps that remove what was made.
type undo []func(ctx context.Context) error

// all runs the steps in reverse order, even if ctx has ended, and returns failed with their errors.
func (u undo) all(ctx context.Context, failed error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	for i := len(u) - 1; i >= 0; i-- {
		if err := u[i](ctx); err != nil && !apierrors.IsNotFound(err) {
			failed = errors.Join(failed, fmt.Errorf("not undone: %w", err))
		}
	}
	return failed
}

// Make makes the account and the delegation, and gets a token. store is called with the loan last; if it
// fails, everything is undone.
func (l *Lender) Make(ctx context.Context, t *Terms, store func(*Loan) error) (*Loan, error) {
	var made undo
	if t.CreateNamespace {
		namespace, err := l.Client.CoreV1().Namespaces().Create(ctx, t.namespace(), metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("create the namespace: %w", err)
		}
		made = append(made, func(ctx context.Context) error {
			return l.Client.CoreV1().Namespaces().Delete(ctx, namespace.Name, onlyUID(namespace.UID))
		})
	}
	account, _ := t.objects("")
	account, err := l.Client.CoreV1().ServiceAccounts(t.Account.Namespace).Create(ctx, account, metav1.CreateOptions{})
	if err != nil {
		return nil, made.all(ctx, fmt.Errorf("create the service account: %w", err))
	}
	made = append(made, func(ctx context.Context) error {
		return l.Client.CoreV1().ServiceAccounts(account.Namespace).Delete(ctx, account.Name, onlyUID(account.UID))
	})
	// Other programs may write a new account before it is bound. Its UID says that it is the one that was made.
	account.ResourceVersion = ""
	_, d := t.objects(account.UID)
	loan, err := l.bindAndStore(ctx, account, d, nil, &made, store)
	if err != nil {
		return nil, made.all(ctx, err)
	}
	return loan, nil
}

func onlyUID(uid types.UID) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

// bindAndStore creates the delegation of an account, binds the account to it, and gets a token. before is the delegation under
// which the account acts until then, or nil.
func (l *Lender) bindAndStore(
	ctx context.Context, account *corev1.ServiceAccount, d, before *v1alpha1.AuthorityDelegation, made *undo, store func(*Loan) error,
) (*Loan, error) {
	d, err := l.Authority.AuthorityDelegations().Create(ctx, d, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create the delegation: %w", explained(err))
	}
	*made = append(*made, func(ctx context.Context) error {
		return l.Authority.AuthorityDelegations().Delete(ctx, d.Name, onlyUID(d.UID))
	})
	if before != nil {
		*made = append(*made, func(ctx context.Context) error { return l.rebind(ctx, d, before) })
	}
	var earlier lenders
	if before != nil {
		earlier = lendersOf(account).with(before.Status.Delegator.Username)
	}
	if err := l.bind(ctx, account, d, earlier); err != nil {
		return nil, fmt.Errorf("bind the service account to the delegation: %w", err)
	}
	loan := &Loan{Account: Account{account.Namespace, account.Name}, Delegation: d.Name, Until: d.Status.ExpirationTimestamp.Time}
	if err := l.token(ctx, account, loan); err != nil {
		return nil, err
	}
	if err := l.waitForBinding(ctx, d.UID, loan); err != nil {
		return nil, err
	}
	return loan, store(loan)
}

// bind writes the annotations of an account, and makes the delegation its owner, so that the account is
// removed with the delegation. It fails if the account has changed since it was read in a version.
func (l *Lender) bind(ctx context.Context, account *corev1.ServiceAccount, d *v1alpha1.AuthorityDelegation, earlier lenders) error {
	text, err := selection.Binding{Name: d.Name, UID: d.UID}.Text()
	if err != nil {
		return err
	}
	names, err := earlier.text()
	if err != nil {
		return err
	}
	annotations := map[string]string{selection.BindingAnnotation: text, selection.LendersAnnotation: names}
	metadata := map[string]any{
		"uid": account.UID, "annotations": annotations,
		"ownerReferences": []metav1.OwnerReference{{
			APIVersion: kindOfDelegations.APIVersion, Kind: kindOfDelegations.Kind, Name: d.Name, UID: d.UID,
		}},
	}
	if account.ResourceVersion != "" {
		metadata["resourceVersion"] = account.ResourceVersion
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	bound, err := l.Client.CoreV1().ServiceAccounts(account.Namespace).Patch(ctx, account.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	for key, value := range annotations {
		if bound.Annotations[key] != value {
			return fmt.Errorf("the server did not store the annotation %s", key)
		}
	}
	return nil
}

// token gets a token of the account for the time that is left, and stores it in the loan.
func (l *Lender) token(ctx context.Context, account *corev1.ServiceAccount, loan *Loan) error {
	seconds := int64(max(loan.Until.Sub(l.Now()), shortestToken).Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	issued, err := l.Client.CoreV1().ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("get a token: %w", err)
	}
	loan.Token, loan.TokenUntil = issued.Status.Token, issued.Status.ExpirationTimestamp.Time
	return nil
}

// waitForBinding waits until the server tells the account itself that it acts under the delegation.
// Otherwise the server does not know such accounts: the kubeconfig would be of no use.
func (l *Lender) waitForBinding(ctx context.Context, uid types.UID, loan *Loan) error {
	config := rest.AnonymousClientConfig(l.Config)
	config.BearerToken = loan.Token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, bindTimeout, true, func(ctx context.Context) (bool, error) {
		var self *authenticationv1.SelfSubjectReview
		if self, last = client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); last != nil {
			return false, nil
		}
		for _, text := range self.Status.UserInfo.Extra[selection.ExtraKey] {
			if s, err := selection.Parse(text); err == nil && s.AuthorityReference.UID == uid {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("the server does not let the service account act under the delegation; every server of the cluster needs the feature gate AuthorityDelegation: %w",
			errors.Join(err, last))
	}
	return nil
}
