// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityfake "kube-granular.dev/api/client/clientset/versioned/fake"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/cli/lend"
)

// loans is a cluster in which jane asks for loans. It answers as the server does: a delegation gets a name, and an account that is
// bound to it hears so of itself.
type loans struct {
	*lend.Lender
	client    *fake.Clientset
	authority *authorityfake.Clientset
}

func newLoans(t *testing.T, objects []runtime.Object, delegations ...runtime.Object) *loans {
	t.Helper()
	out := &loans{client: fake.NewClientset(objects...), authority: authorityfake.NewSimpleClientset(delegations...)}
	self := &authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"}}
	self.Status.UserInfo.Username = "jane"
	out.client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, self, nil
	})
	out.client.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		token := &authenticationv1.TokenRequest{}
		token.Status.Token, token.Status.ExpirationTimestamp = "secret", metav1.Unix(7200, 0)
		return action.GetSubresource() == "token", token, nil
	})
	out.authority.PrependReactor("create", "authoritydelegations", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create := action.(clienttesting.CreateActionImpl)
		d := create.GetObject().(*v1alpha1.AuthorityDelegation)
		if len(create.CreateOptions.DryRun) > 0 {
			return true, d.DeepCopy(), nil
		}
		d.Name, d.UID, d.Status.ExpirationTimestamp = d.GenerateName+"new", "new", d.Spec.ExpirationTimestamp
		d.Status.Delegator.Username = "jane"
		return false, nil, nil
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, err := selection.Binding{Name: "lent-agents-scaler-new", UID: "new"}.Selected().Text()
		if err != nil {
			t.Error(err)
		}
		bound := self.DeepCopy()
		bound.Status.UserInfo.Extra = map[string]authenticationv1.ExtraValue{selection.ExtraKey: {text}}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(bound)
	}))
	t.Cleanup(server.Close)
	out.Lender = &lend.Lender{
		Client: out.client, Authority: out.authority.AuthorityV1alpha1(), Config: &rest.Config{Host: server.URL},
		Now: func() time.Time { return time.Unix(1, 0) },
	}
	return out
}

// written returns what was written to service accounts, with the names of the verbs.
func (l *loans) written() (verbs []string) {
	for _, action := range l.client.Actions() {
		if action.GetResource().Resource == "serviceaccounts" && !slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			verbs = append(verbs, strings.Trim(action.GetVerb()+" "+action.GetSubresource(), " "))
		}
	}
	return verbs
}

// left returns the names of the delegations that are left.
func (l *loans) left(t *testing.T) (names []string) {
	t.Helper()
	all, err := l.Authority.AuthorityDelegations().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	return names
}

// lentTo returns a delegation that is labelled as lent to an account.
func lentTo(name string, uid types.UID, delegates ...v1alpha1.Delegate) *v1alpha1.AuthorityDelegation {
	d := &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
	d.Labels = map[string]string{selection.LentLabel: "true"}
	d.Spec.Delegates, d.Spec.Scope.Namespace = delegates, "shop"
	d.Spec.RoleRef = &v1alpha1.DelegatedRole{Kind: "ClusterRole", Name: "scaler"}
	d.Status.Delegator.Username = "jane"
	return d
}

func delegate(uid types.UID) v1alpha1.Delegate {
	return v1alpha1.Delegate{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "scaler", UID: uid}
}

// lendersKey is the annotation of the earlier lenders.
const lendersKey = "authority.kube-granular.dev/lenders"

// boundAccount returns the account that lend makes for a delegation.
func boundAccount(d *v1alpha1.AuthorityDelegation) *corev1.ServiceAccount {
	text, err := selection.Binding{Name: d.Name, UID: d.UID}.Text()
	if err != nil {
		panic(err)
	}
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: "agents", Name: "scaler", UID: "account", ResourceVersion: "7", Labels: map[string]string{selection.LentLabel: "true"},
		Annotations: map[string]string{selection.BindingAnnotation: text, lendersKey: `{"names":[]}`},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "AuthorityDelegation", Name: d.Name, UID: d.UID},
		},
	}}
}

// TestLentAccounts checks that --revoke and --renew touch an account only if the account itself names the delegation. Whoever may
// create delegations can label one as lent, and name any account in it.
//
// Attack: somebody creates a delegation that is labelled as lent to the account of somebody else, and an administrator revokes or renews it
// Answer: to revoke deletes the delegation alone and says so, and to renew is refused
// Was: got through
func TestLentAccounts(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.AuthorityDelegation, *corev1.ServiceAccount)
		// says is why the account is left alone, or empty if it is removed and renewed.
		says string
	}{
		"made by lend": {func(*v1alpha1.AuthorityDelegation, *corev1.ServiceAccount) {}, ""},
		"an account that nobody lent": {func(_ *v1alpha1.AuthorityDelegation, a *corev1.ServiceAccount) {
			a.Labels, a.Annotations, a.OwnerReferences = nil, nil, nil
		}, "it lacks the label authority.kube-granular.dev/lent"},
		"without a UID": {func(d *v1alpha1.AuthorityDelegation, _ *corev1.ServiceAccount) { d.Spec.Delegates[0].UID = "" },
			"the delegation does not have its UID"},
		"another account of the name": {func(_ *v1alpha1.AuthorityDelegation, a *corev1.ServiceAccount) { a.UID = "later" },
			"the delegation does not have its UID"},
		"without the label": {func(_ *v1alpha1.AuthorityDelegation, a *corev1.ServiceAccount) { a.Labels = nil }, "it lacks the label"},
		"without the annotation": {func(_ *v1alpha1.AuthorityDelegation, a *corev1.ServiceAccount) { a.Annotations = nil },
			"its annotation authority.kube-granular.dev/acts-under does not name the delegation"},
		"bound to another delegation": {func(_ *v1alpha1.AuthorityDelegation, a *corev1.ServiceAccount) {
			a.Annotations = map[string]string{selection.BindingAnnotation: `{"name":"other","uid":"lent"}`}
		}, "its annotation"},
		"bound to an earlier delegation of the name": {func(_ *v1alpha1.AuthorityDelegation, a *corev1.ServiceAccount) {
			a.Annotations = map[string]string{selection.BindingAnnotation: `{"name":"lent","uid":"earlier"}`}
		}, "its annotation"},
		"not owned": {func(_ *v1alpha1.AuthorityDelegation, a *corev1.ServiceAccount) { a.OwnerReferences = nil },
			"its ownerReferences do not name the delegation"},
		"owned by another delegation": {func(_ *v1alpha1.AuthorityDelegation, a *corev1.ServiceAccount) { a.OwnerReferences[0].UID = "other" },
			"its ownerReferences do not name the delegation"},
	} {
		t.Run(name, func(t *testing.T) {
			made := func() *loans {
				d := lentTo("lent", "lent", delegate("account"))
				account := boundAccount(d)
				tc.change(d, account)
				return newLoans(t, []runtime.Object{account}, d)
			}
			run := func(l *loans, o *lendFlags, action func(*options) error) (string, error) {
				streams, _, out, errs := genericiooptions.NewTestIOStreams()
				err := action(&options{streams: streams})
				return out.String() + errs.String(), err
			}
			says := func(what, text, removed string) {
				if want := cmp.Or(tc.says, removed); !strings.Contains(text, want) || tc.says != "" && strings.Contains(text, removed) {
					t.Errorf("%s: %q, wanted %q", what, text, want)
				}
			}

			l, o := made(), &lendFlags{revoke: "agents/scaler", dryRun: true}
			text, err := run(l, o, func(s *options) error { return s.revokeLent(t.Context(), l.Lender, o) })
			says("--revoke --dry-run", text, "the service account agents/scaler would be removed")
			if err != nil || len(l.written()) > 0 || len(l.left(t)) != 1 {
				t.Errorf("--revoke --dry-run: %v, %q", err, l.written())
			}

			l, o = made(), &lendFlags{revoke: "agents/scaler"}
			text, err = run(l, o, func(s *options) error { return s.revokeLent(t.Context(), l.Lender, o) })
			says("--revoke", text, "agents/scaler has no permissions any more, and is removed.")
			want := []string{"delete"}
			if tc.says != "" {
				want = nil
			}
			if err != nil || !slices.Equal(l.written(), want) || len(l.left(t)) != 0 {
				t.Errorf("--revoke: %v, %q was done to the account, wanted %q; delegations %q", err, l.written(), want, l.left(t))
			}
			for _, action := range l.client.Actions() {
				uid, version := types.UID("account"), "7"
				read := &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
				if d, ok := action.(clienttesting.DeleteActionImpl); ok && !equality.Semantic.DeepEqual(d.DeleteOptions.Preconditions, read) {
					t.Errorf("the account is deleted with the preconditions %+v", d.DeleteOptions.Preconditions)
				}
			}

			l = made()
			o = &lendFlags{renew: "agents/scaler", duration: time.Hour, file: filepath.Join(t.TempDir(), "kubeconfig"), evenIfOthersCan: true}
			text, err = run(l, o, func(s *options) error { return s.renewLent(t.Context(), l.Lender, o) })
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) || len(l.written()) > 0 || !slices.Equal(l.left(t), []string{"lent"}) {
					t.Errorf("--renew: %v, %q was done to the account, delegations %q", err, l.written(), l.left(t))
				}
				return
			}
			renewed := []string{"lent-agents-scaler-new"}
			if err != nil || !slices.Equal(l.written(), []string{"patch", "create token"}) || !slices.Equal(l.left(t), renewed) {
				t.Errorf("--renew: %v, %q was done to the account, delegations %q\n%s", err, l.written(), l.left(t), text)
			}
		})
	}
}

// TestRevokeGone checks what --revoke says of an account that is gone, and of one that is there and was not made for the delegation.
func TestRevokeGone(t *testing.T) {
	for name, tc := range map[string]struct {
		change       func(*corev1.ServiceAccount)
		would, ended string
		refused      string
	}{
		"gone": {func(a *corev1.ServiceAccount) { a.Name = "another" },
			"AuthorityDelegation lent would end. The service account agents/scaler is gone already.\n",
			"AuthorityDelegation lent has ended. The service account agents/scaler was gone already.\n",
			"the service account agents/scaler was not made for AuthorityDelegation lent, so it gets no other: it does not exist"},
		"another's": {func(a *corev1.ServiceAccount) { a.Labels = nil },
			"AuthorityDelegation lent would end. The service account agents/scaler was not made for it, and would be left alone: " +
				"it lacks the label authority.kube-granular.dev/lent.\n",
			"AuthorityDelegation lent has ended. The service account agents/scaler was not made for it, and is left alone: " +
				"it lacks the label authority.kube-granular.dev/lent.\n",
			"the service account agents/scaler was not made for AuthorityDelegation lent, so it gets no other: it lacks the label"},
		"made by lend": {func(*corev1.ServiceAccount) {},
			"AuthorityDelegation lent would end, and the service account agents/scaler would be removed.\n",
			"agents/scaler has no permissions any more, and is removed.\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range []lendFlags{{revoke: "agents/scaler", dryRun: true}, {revoke: "agents/scaler"}} {
				d := lentTo("lent", "lent", delegate("account"))
				account := boundAccount(d)
				tc.change(account)
				l := newLoans(t, []runtime.Object{account}, d)
				if o.dryRun && tc.refused != "" {
					_, err := l.Renewal(t.Context(), d, time.Unix(7200, 0), "")
					if err == nil || !strings.Contains(err.Error(), tc.refused) {
						t.Errorf("%v, wanted %q", err, tc.refused)
					}
				}
				streams, _, out, errs := genericiooptions.NewTestIOStreams()
				err := (&options{streams: streams}).revokeLent(t.Context(), l.Lender, &o)
				want, left := tc.ended, 0
				if o.dryRun {
					want, left = tc.would, 1
				}
				if got := out.String() + errs.String(); err != nil || got != want || len(l.left(t)) != left {
					t.Errorf("%v, %q, wanted %q; delegations %q", err, got, want, l.left(t))
				}
			}
		})
	}
}

// TestLentNames checks that an account is named with its namespace, and that a second delegation to it hides no loan.
func TestLentNames(t *testing.T) {
	loan := lentTo("lent", "lent", delegate("account"))
	second := lentTo("forged", "forged", delegate("account"))
	for name, tc := range map[string]struct {
		revoke  string
		account *corev1.ServiceAccount
		others  []runtime.Object
		left    []string
		says    string
	}{
		"whole name": {"agents/scaler", boundAccount(loan), nil, nil, ""},
		"bare name": {"scaler", boundAccount(loan), nil, []string{"lent"},
			`--revoke: "scaler" is not the NAMESPACE/NAME of a service account`},
		"other namespace": {"shop/scaler", boundAccount(loan), nil, []string{"lent"},
			"nothing is lent to a service account shop/scaler"},
		"two, and it acts under one": {"agents/scaler", boundAccount(loan), []runtime.Object{second}, []string{"forged"}, ""},
		"two, and it acts under none": {"agents/scaler", boundAccount(lentTo("other", "other")), []runtime.Object{second},
			[]string{"forged", "lent"}, "2 delegations are labelled as lent to the service account agents/scaler, and it acts under none of them"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoans(t, []runtime.Object{tc.account.DeepCopy()}, append(tc.others, loan.DeepCopy())...)
			streams, _, _, _ := genericiooptions.NewTestIOStreams()
			err := (&options{streams: streams}).revokeLent(t.Context(), l.Lender, &lendFlags{revoke: tc.revoke})
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, wanted %q", err, tc.says)
			}
			if got := l.left(t); !slices.Equal(got, tc.left) {
				t.Errorf("the delegations %q are left, wanted %q", got, tc.left)
			}
			if got := l.written(); (len(got) > 0) != (tc.says == "") {
				t.Errorf("%q was done to the account", got)
			}
		})
	}
}

// TestRevokeMeanwhile checks what --revoke makes of an account that others write, remove or hide at the same time.
func TestRevokeMeanwhile(t *testing.T) {
	accounts := corev1.Resource("serviceaccounts")
	for name, tc := range map[string]struct {
		// answer answers the deletion number n of the account.
		answer func(l *loans, n int) error
		hidden bool
		says   string
		failed string
	}{
		"written": {answer: func(_ *loans, n int) error {
			if n == 1 {
				return apierrors.NewConflict(accounts, "scaler", nil)
			}
			return nil
		}, says: "is removed"},
		"renewed": {answer: func(l *loans, _ int) error {
			other := boundAccount(lentTo("newer", "newer"))
			if err := l.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("serviceaccounts"), other, "agents"); err != nil {
				return err
			}
			return apierrors.NewConflict(accounts, "scaler", nil)
		}, says: "is left alone: its annotation authority.kube-granular.dev/acts-under does not name the delegation"},
		"removed by the garbage collector": {answer: func(*loans, int) error {
			return apierrors.NewNotFound(accounts, "scaler")
		}, says: "is removed"},
		"removed by the garbage collector before": {answer: func(l *loans, _ int) error {
			if err := l.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("serviceaccounts"), "agents", "scaler"); err != nil {
				return err
			}
			return apierrors.NewConflict(accounts, "scaler", nil)
		}, says: "is removed"},
		"not removed": {answer: func(*loans, int) error { return apierrors.NewForbidden(accounts, "scaler", nil) },
			failed: "the delegation has ended, so the service account agents/scaler has no permissions, but the account was not removed"},
		"hidden": {answer: func(*loans, int) error { return nil }, hidden: true,
			failed: "AuthorityDelegation lent has ended, but it is not known whether the service account was made for it"},
	} {
		t.Run(name, func(t *testing.T) {
			d := lentTo("lent", "lent", delegate("account"))
			l := newLoans(t, []runtime.Object{boundAccount(d)}, d)
			n := 0
			l.client.PrependReactor("delete", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
				n++
				return true, nil, tc.answer(l, n)
			})
			l.client.PrependReactor("get", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
				return tc.hidden, nil, apierrors.NewForbidden(accounts, "scaler", nil)
			})
			streams, _, _, errs := genericiooptions.NewTestIOStreams()
			err := (&options{streams: streams}).revokeLent(t.Context(), l.Lender, &lendFlags{revoke: "agents/scaler"})
			text := errs.String()
			if (err == nil) != (tc.failed == "") || err != nil && !strings.Contains(err.Error(), tc.failed) || !strings.Contains(text, tc.says) {
				t.Errorf("%v, %q", err, text)
			}
			if left := l.left(t); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
}

// TestRenewalPlan checks that --renew prints what lend prints, and makes nothing without --yes if others can use the account.
//
// Attack: a role gains rules while it is lent, or somebody else gets into the namespace of the account, and the loan is renewed
// Answer: the plan is printed, and --yes is needed, as for a new loan
// Was: got through
func TestRenewalPlan(t *testing.T) {
	minter := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "minter"}
	tokens := roleFor(minter, "tokens", "create", "", "serviceaccounts/token")
	for name, tc := range map[string]struct {
		objects []runtime.Object
		lender  string
		yes     bool
		says    string
		renewed bool
	}{
		"nobody else":                {nil, "jane", false, "By RBAC and delegations, nobody else can use the service account", true},
		"others":                     {tokens, "jane", false, "User minter", false},
		"others, with --yes":         {tokens, "jane", true, "User minter", true},
		"another lender":             {nil, "mallory", false, "User mallory   the loan before   AuthorityDelegation lent", false},
		"another lender, with --yes": {nil, "mallory", true, "User mallory   the loan before   AuthorityDelegation lent", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := lentTo("lent", "lent", delegate("account"))
			d.Status.Delegator.Username = tc.lender
			d.Status.Rules = []rbacv1.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
			d.Spec.Scope.Namespace = "agents" // what the account itself may do makes it no other
			l := newLoans(t, append([]runtime.Object{boundAccount(d)}, tc.objects...), d)
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			file := filepath.Join(t.TempDir(), "kubeconfig")
			o := &lendFlags{renew: "agents/scaler", duration: time.Hour, file: file, evenIfOthersCan: tc.yes}
			err := (&options{streams: streams}).renewLent(t.Context(), l.Lender, o)
			for _, want := range []string{"agents/scaler will be able to do this in namespace agents", tc.says} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s, wanted %q", out.String(), want)
				}
			}
			if tc.renewed && (err != nil || len(l.written()) == 0) {
				t.Errorf("not renewed: %v", err)
			}
			if !tc.renewed && (err == nil || !strings.Contains(err.Error(), "nothing was made") || len(l.written()) > 0 || len(l.left(t)) != 1) {
				t.Errorf("%v, %q, %q", err, l.written(), l.left(t))
			}
		})
	}
}

// TestLenders checks whom the second renewal of a loan lists, which begins with an annotation of the account and a lender.
//
// Attack: somebody lends to an account, an administrator renews the loan with --yes, and later once more: the first token still works
// Answer: the account keeps the names of its lenders, so that the first one is listed, and --yes is needed again
// Was: got through
func TestLenders(t *testing.T) {
	const unknown, nobody = "an earlier lender   an earlier loan   ServiceAccount agents/scaler", "nobody else can use the service account"
	named := func(name string) string { return "User " + name + "   an earlier loan   ServiceAccount agents/scaler" }
	var many, most []string
	for i := range 16 {
		most = append(most, fmt.Sprintf("%q", fmt.Sprintf("lender-%d", i)))
	}
	many = append(slices.Clone(most), `"one-more"`)
	names := func(quoted ...string) *string { return new(`{"names":[` + strings.Join(quoted, ",") + `]}`) }
	for name, tc := range map[string]struct {
		lender     string
		annotation *string
		says       string
	}{
		"one lender":              {"jane", names(), nobody},
		"another lender":          {"mallory", names(), named("mallory")},
		"a lender before":         {"jane", names(`"mallory"`), named("mallory")},
		"the same one before":     {"jane", names(`"jane"`), nobody},
		"no annotation":           {"jane", nil, unknown},
		"empty annotation":        {"jane", new(""), unknown},
		"no JSON":                 {"jane", new("mallory"), unknown},
		"no names":                {"jane", new("{}"), unknown},
		"an empty name":           {"jane", names(`""`), unknown},
		"a field that is unknown": {"jane", new(`{"names":[],"all":true}`), unknown},
		"more":                    {"jane", new(`{"names":[],"more":true}`), unknown},
		"as many as it holds":     {"jane", names(append(most[1:], `"jane"`)...), named("lender-15")},
		"no room for the last":    {"mallory", names(most...), unknown},
		"too many":                {"jane", names(many...), unknown},
		"a name that is too long": {strings.Repeat("m", 257), names(), unknown},
		"too long":                {"jane", names(`"` + strings.Repeat("m", 257) + `"`), unknown},
	} {
		t.Run(name, func(t *testing.T) {
			d := lentTo("lent", "lent", delegate("account"))
			d.Status.Delegator.Username = tc.lender
			account := boundAccount(d)
			delete(account.Annotations, lendersKey)
			if tc.annotation != nil {
				account.Annotations[lendersKey] = *tc.annotation
			}
			l := newLoans(t, []runtime.Object{account}, d)
			renew := func(yes bool) (string, error) {
				streams, _, out, _ := genericiooptions.NewTestIOStreams()
				file := filepath.Join(t.TempDir(), "kubeconfig")
				o := &lendFlags{renew: "agents/scaler", duration: time.Hour, file: file, evenIfOthersCan: yes, dryRun: !yes && tc.says == nobody}
				err := (&options{streams: streams}).renewLent(t.Context(), l.Lender, o)
				return out.String(), err
			}
			if text, err := renew(true); err != nil {
				t.Fatal(text, err)
			}
			text, err := renew(false)
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(tc.says), " ")) {
				t.Errorf("%s, wanted %q", text, tc.says)
			}
			if refused := err != nil && strings.Contains(err.Error(), "nothing was made"); refused != (tc.says != nobody) {
				t.Errorf("%v", err)
			}
		})
	}
}
