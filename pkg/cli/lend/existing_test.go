// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityfake "kube-granular.dev/api/client/clientset/versioned/fake"
	"kube-granular.dev/api/selection"
)

// bindingServer answers each token that its account acts under a delegation.
func bindingServer(t *testing.T, d selection.Binding) *rest.Config {
	t.Helper()
	text, err := d.Selected().Text()
	if err != nil {
		t.Fatal(err)
	}
	self := authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"}}
	self.Status.UserInfo.Extra = map[string]authenticationv1.ExtraValue{selection.ExtraKey: {text}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(self)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// TestRenewUndone checks under which delegation an account acts after a renewal that failed: under the one before, unless that has
// ended, or somebody else has bound the account meanwhile.
func TestRenewUndone(t *testing.T) {
	accounts := corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	for name, tc := range map[string]struct {
		ends      time.Time
		meanwhile string
		want      string
	}{
		"undone":             {time.Unix(7200, 0), "", "before"},
		"it has ended":       {time.Unix(1, 0), "", "new"},
		"renewed by another": {time.Unix(7200, 0), "third", "third"},
		"without an end":     {time.Time{}, "", "before"},
		"ended, and renewed": {time.Unix(1, 0), "third", "third"},
	} {
		t.Run(name, func(t *testing.T) {
			terms := &Terms{Account: Account{"agents", "scaler"}, Until: time.Unix(9000, 0)}
			account, before := terms.objects("account")
			account.UID, account.ResourceVersion, before.Name, before.UID = "account", "7", "before", "before"
			before.Status.Delegator.Username = "lender"
			if !tc.ends.IsZero() {
				before.Status.ExpirationTimestamp = &metav1.Time{Time: tc.ends}
			}
			client, authority := fake.NewClientset(account), authorityfake.NewSimpleClientset(before)
			l := &Lender{Client: client, Authority: authority.AuthorityV1alpha1(), Now: func() time.Time { return time.Unix(3600, 0) },
				Config: bindingServer(t, selection.Binding{Name: "new", UID: "new"})}
			authority.PrependReactor("create", "authoritydelegations", func(action clienttesting.Action) (bool, runtime.Object, error) {
				d := action.(clienttesting.CreateAction).GetObject().(*v1alpha1.AuthorityDelegation)
				d.Name, d.UID, d.Status.ExpirationTimestamp = "new", "new", d.Spec.ExpirationTimestamp
				d.Status.Delegator.Username = "renewer"
				return false, nil, nil
			})
			client.PrependReactor("create", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &authenticationv1.TokenRequest{}, nil
			})
			if err := l.bind(t.Context(), account, before, lenders{}); err != nil {
				t.Fatal(err)
			}
			renewal, err := l.Renewal(t.Context(), before, time.Unix(9000, 0), "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.Renew(t.Context(), renewal, func(*Loan) error {
				if tc.meanwhile != "" {
					other := account.DeepCopy()
					other.Annotations = map[string]string{selection.BindingAnnotation: `{"name":"` + tc.meanwhile + `","uid":"x"}`}
					if err := client.Tracker().Update(accounts, other, "agents"); err != nil {
						t.Error(err)
					}
				}
				return errors.New("the disk is full")
			})
			if err == nil || err.Error() != "the disk is full" {
				t.Errorf("%v", err)
			}
			after, err := client.CoreV1().ServiceAccounts("agents").Get(t.Context(), "scaler", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := selection.ParseBinding(after.Annotations[selection.BindingAnnotation]); err != nil || got.Name != tc.want {
				t.Errorf("it acts under %+v, wanted %q", got, tc.want)
			}
			// Who renewed can have a token, whatever was undone.
			known := map[string][]string{"before": {"lender", "renewer"}, "new": {"lender"}}[tc.want]
			if got := lendersOf(after); !slices.Equal(got.Names, known) || got.More != (tc.want == "third") {
				t.Errorf("the earlier lenders are %+v, wanted %q", got, known)
			}
			all, err := l.Authority.AuthorityDelegations().List(t.Context(), metav1.ListOptions{})
			if err != nil || len(all.Items) != 1 || all.Items[0].Name != "before" {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
}

// TestBindVersion checks that a renewal binds the account in the version that named the old delegation, and that a new account,
// which other programs may write, is bound in any version.
func TestBindVersion(t *testing.T) {
	for version, want := range map[string]bool{"7": true, "": false} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "scaler", UID: "account"}}
		account.ResourceVersion = version
		client := fake.NewClientset(account)
		d := &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}}
		if err := (&Lender{Client: client}).bind(t.Context(), account, d, lenders{}); err != nil {
			t.Fatal(err)
		}
		checkPatch(t, client, want)
	}

	client, authority := fake.NewClientset(), authorityfake.NewSimpleClientset()
	client.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() == "token" {
			return true, nil, errors.New("no token")
		}
		account := action.(clienttesting.CreateAction).GetObject().(*corev1.ServiceAccount)
		account.UID, account.ResourceVersion = "account", "7"
		return false, nil, nil
	})
	authority.PrependReactor("create", "authoritydelegations", func(action clienttesting.Action) (bool, runtime.Object, error) {
		d := action.(clienttesting.CreateAction).GetObject().(*v1alpha1.AuthorityDelegation)
		d.Name, d.UID, d.Status.ExpirationTimestamp = "new", "new", d.Spec.ExpirationTimestamp
		return false, nil, nil
	})
	l := &Lender{Client: client, Authority: authority.AuthorityV1alpha1(), Now: time.Now}
	_, err := l.Make(t.Context(), &Terms{Account: Account{"agents", "scaler"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "no token") {
		t.Errorf("%v", err)
	}
	checkPatch(t, client, false)
}

// checkPatch checks that an account was bound by its UID, and whether also by its version. The same patch names the earlier lenders.
func checkPatch(t *testing.T, client *fake.Clientset, versioned bool) {
	t.Helper()
	for _, action := range client.Actions() {
		if patched, ok := action.(clienttesting.PatchAction); ok {
			patch := string(patched.GetPatch())
			binds := strings.Contains(patch, selection.BindingAnnotation) && strings.Contains(patch, selection.LendersAnnotation)
			if strings.Contains(patch, `"resourceVersion":"7"`) != versioned || !strings.Contains(patch, `"uid":"account"`) || !binds {
				t.Error(patch)
			}
			return
		}
	}
	t.Error("nothing is bound")
}

// TestFileRemove checks that a file is removed, and another one that got its name is not.
func TestFileRemove(t *testing.T) {
	for name, replaced := range map[string]bool{"the same": false, "another": true} {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		file, err := NewFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if replaced {
			if err := errors.Join(os.Rename(path, path+".moved"), os.WriteFile(path, []byte("of another"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		err = file.Remove()
		_, left := os.Stat(path)
		if replaced != (err != nil) || replaced != (left == nil) {
			t.Errorf("%s: %v, %v", name, err, left)
		}
		if _, err := NewFile(filepath.Dir(path)); err == nil {
			t.Error("a folder is opened as a new file")
		}
	}
}
