// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/accounts"
	"kube-granular.dev/tenancy/internal/names"
	"kube-granular.dev/tenancy/internal/webhook"
)

var people = accounts.Mapping{
	Users:  map[string]string{"ada": "4711"},
	Groups: map[string]string{"research": "1", "ops": "2"},
}

func asked(operation admissionv1.Operation, user string, groups []string, before, now string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "u", Operation: operation, Name: "team", UserInfo: authenticationv1.UserInfo{Username: user, Groups: groups},
		Object: runtime.RawExtension{Raw: []byte(now)}, OldObject: runtime.RawExtension{Raw: []byte(before)},
	}}
}

// patches returns the JSON patches of an admission response as text.
func patches(t *testing.T, r admission.Response) string {
	t.Helper()
	var list []string
	for _, p := range r.Patches {
		value, err := json.Marshal(p.Value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %s", p.Operation, p.Path, value))
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// TestDefaultPatches checks the JSON patches that set the account of a new LNamespace.
func TestDefaultPatches(t *testing.T) {
	for name, tc := range map[string]struct {
		user, spec  string
		groups      []string
		want, error string
	}{
		"no specification": {user: "ada", want: `add /spec {"billing":{"account":"4711"}}`},
		"no billing": {user: "ada", spec: `{"users":[{"name":"x"}]}`,
			want: `add /spec/billing {"account":"4711"}`},
		"no account": {user: "ada", spec: `{"billing":{"labels":{"k":"v"}}}`,
			want: `add /spec/billing/account "4711"`},
		"an empty account": {user: "ada", spec: `{"billing":{"account":""}}`,
			want: `replace /spec/billing/account "4711"`},
		"an account": {user: "ada", spec: `{"billing":{"account":"9"}}`},
		"of a group": {user: "bob", groups: []string{"ops"}, spec: `{"unknown":1}`,
			want: `add /spec/billing {"account":"2"}`},
		"many groups": {user: "bob", groups: []string{"ops", "research"},
			error: `"bob" has several accounts to choose from: 1 (group research), 2 (group ops)`},
		"many, and chosen": {user: "bob", groups: []string{"ops", "research"}, spec: `{"billing":{"account":"1"}}`},
		"nobody":           {user: "bob"},
		"no object":        {user: "ada", spec: `[`, error: "invalid character"},
		"a strange spec":   {user: "ada", spec: `{"billing":[]}`, error: "billing"},
	} {
		text := `{"metadata":{"name":"team"}}`
		if tc.spec != "" {
			text = `{"metadata":{"name":"team"},"spec":` + tc.spec + `}`
		}
		d := webhook.Default{Accounts: func() (accounts.Mapping, error) { return people, nil }}
		r := d.Handle(t.Context(), asked(admissionv1.Create, tc.user, tc.groups, "", text))
		if got := patches(t, r); got != tc.want {
			t.Errorf("%s: patches %s", name, got)
		}
		if r.Allowed != (tc.error == "") || !r.Allowed && !strings.Contains(r.Result.Message, tc.error) {
			t.Errorf("%s: allowed %t: %+v", name, r.Allowed, r.Result)
		}
	}
	d := webhook.Default{Accounts: func() (accounts.Mapping, error) { return accounts.Mapping{}, errors.New("gone") }}
	if r := d.Handle(t.Context(), asked(admissionv1.Create, "ada", nil, "", "{}")); r.Allowed {
		t.Error("allowed, although the mapping can't be read")
	}
}

func isInfra(name string) bool { return names.Reserved(name, "infra") }

func allowAll(context.Context, client.Reader, *v1alpha1.LNamespace) (refused, err error) {
	return nil, nil
}

func refuseCom(_ context.Context, _ client.Reader, t *v1alpha1.LNamespace) (refused, err error) {
	if (t.Name == "com" || t.Name == "svc") && t.Annotations[names.Creator] == "mia" {
		return errors.New("a public top-level domain"), nil
	}
	return nil, nil
}

// api returns a client whose access reviews allow only the given verbs, such as "users@team": the
// permission users on the LNamespace team, or on all LNamespaces if the name is empty. The verb
// "deny" makes all reviews deny, and "error" makes them fail.
func api(t *testing.T, verbs ...string) client.Client { return apiFor(t, "mia", verbs...) }

// apiFor returns an API server that answers access reviews about a user.
func apiFor(t *testing.T, user string, verbs ...string) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "old"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "svc"}}).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			r, ok := o.(*authorizationv1.SubjectAccessReview)
			if !ok {
				return errors.New("the created object is not an access review")
			}
			a := r.Spec.ResourceAttributes
			if a.Group != "tenancy.kube-granular.dev" || a.Resource != "lnamespaces" || r.Spec.User != user || len(r.Spec.Groups) == 0 || len(r.Spec.Extra["k"]) != 1 {
				return fmt.Errorf("unexpected access review: %+v", r.Spec)
			}
			if slices.Contains(verbs, "error") {
				return errors.New("the authorizer is unavailable")
			}
			r.Status.Allowed = slices.Contains(verbs, strings.TrimPrefix(a.Verb, "granular:tenancy.kube-granular.dev/")+"@"+a.Name+a.Subresource)
			r.Status.Denied = slices.Contains(verbs, "deny")
			return nil
		}}).Build()
}

// allowedName is the annotation by which an administrator allows a name.
const allowedName = `"annotations":{"tenancy.kube-granular.dev/allowed":"true"}`

const full = `{"metadata":{"name":"team","finalizers":["tenancy.kube-granular.dev/revoke","tenancy.kube-granular.dev/billing","other"]},"spec":{
"users":[{"kind":"User","name":"u"}],"managers":[{"kind":"User","name":"m"}],"sudoers":[{"kind":"User","name":"s"}],"sudo":{"atRevocation":"Report"},"billing":{"account":"1"}}}`

// TestListsTakeVerbs checks that a change of a list needs the verb of this list, and that the
// verbs of all other lists do not suffice.
func TestListsTakeVerbs(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, verb, message string }{
		"users": {`"name":"u"`, `"name":"mia"`, "users@team",
			"spec.users needs the verb granular:tenancy.kube-granular.dev/users"},
		"managers":      {`"name":"m"`, `"name":"mia"`, "managers@team", "spec.managers needs"},
		"sudoers":       {`"name":"s"`, `"name":"mia"`, "sudoers@team", "spec.sudoers needs"},
		"a kind":        {`"kind":"User","name":"s"`, `"kind":"Group","name":"s"`, "sudoers@team", "spec.sudoers needs"},
		"none left":     {`"sudoers":[{"kind":"User","name":"s"}],`, "", "sudoersRemoval@team", "spec.sudoers needs"},
		"an empty list": {`"sudoers":[{"kind":"User","name":"s"}],`, `"sudoers":[],`, "sudoersRemoval@team", "spec.sudoers needs"},
		"one more":      {`"sudoers":[{"kind":"User","name":"s"}],`, `"sudoers":[{"kind":"User","name":"s"},{"kind":"User","name":"mia"}],`, "sudoers@team", "spec.sudoers needs"},
		"sudo":          {`{"atRevocation":"Report"}`, `{"allow":["Delete"]}`, "sudo@team", "spec.sudo needs"},
		"billing":       {`"account":"1"`, `"account":"2"`, "billing@team", "spec.billing needs"},
		"finalizer": {`"tenancy.kube-granular.dev/revoke",`, "", "update@teamstatus",
			"the finalizer tenancy.kube-granular.dev/revoke"},
		"the bill": {`"tenancy.kube-granular.dev/billing",`, "", "update@teamstatus",
			"the finalizer tenancy.kube-granular.dev/billing"},
		"a finalizer that stays": {`"other"]`, `"other","mine"]`, "delete@team",
			"the finalizer mine needs the verb delete"},
		"deletion": {`"billing":{"account":"1"}`, `"billing":{"account":"1"},"deletionPolicy":"Retain"`, "deletionPolicy@team", "spec.deletionPolicy needs"},
		"an owner": {`"name":"team",`, `"name":"team","ownerReferences":[{"name":"o"}],`, "delete@team",
			"metadata.ownerReferences needs the verb delete"},
	} {
		all := []string{"users@team", "managers@team", "sudoers@team", "sudo@team", "billing@team", "deletionPolicy@team", "sudoersRemoval@team",
			"update@teamstatus", "delete@team", "delete@other", "sudoers@other", "sudoers@"}
		rest := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
			// Some verbs include another one: who writes the status is the controller.
			return v == tc.verb || tc.verb == "sudoersRemoval@team" && v == "sudoers@team" || tc.verb == "delete@team" && v == "update@teamstatus"
		})
		now := strings.Replace(full, tc.from, tc.to, 1)
		for _, question := range []struct {
			verbs   []string
			allowed bool
		}{{[]string{tc.verb, strings.TrimSuffix(tc.verb, "team")}, true}, {rest, false}, {append(rest, tc.verb, "deny"), false},
			{append(rest, tc.verb, "error"), false}} {
			l := webhook.Lists{Client: api(t, question.verbs...), Check: allowAll, IsReserved: isInfra,
				Accounts: func() (accounts.Mapping, error) { return people, nil }}
			req := asked(admissionv1.Update, "mia", []string{"g"}, full, now)
			req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"k": {"v"}}
			r := l.Handle(t.Context(), req)
			if r.Allowed != question.allowed {
				t.Errorf("%s, with %v: allowed %t: %+v", name, question.verbs, r.Allowed, r.Result)
			}
			if !r.Allowed && !strings.Contains(r.Result.Message, tc.message) && !strings.Contains(r.Result.Message, "unavailable") {
				t.Errorf("%s: %s", name, r.Result.Message)
			}
			if len(r.Patches) != 0 {
				t.Errorf("%s: %v", name, r.Patches)
			}
		}
	}
}

// TestListsWithoutVerbs checks changes whose result does not depend on the verbs for the lists.
func TestListsWithoutVerbs(t *testing.T) {
	replaced := func(from, to string) string { return strings.Replace(full, from, to, 1) }
	strict := people
	strict.OnlyOwn = true
	for name, tc := range map[string]struct {
		before, now, message, warning string
		verbs                         []string
		mapping                       accounts.Mapping
	}{
		"new":              {now: full},
		"nothing":          {before: full, now: full},
		"other finalizers": {before: full, now: replaced(`,"other"`, "")},
		"labels": {before: full,
			now: replaced(`"name":"team",`, `"name":"team","labels":{"a":"b"},`)},
		"a field of tomorrow": {before: full, now: replaced(`"spec":{`, `"spec":{"owners":["mia"],`),
			verbs: []string{"users@team", "sudoers@team"}, message: "spec.owners is not known"},
		"a field of tomorrow, gone": {before: replaced(`"spec":{`, `"spec":{"owners":["x"],`), now: full,
			message: "spec.owners is not known"},
		"new, reserved": {now: replaced(`"name":"team"`, `"name":"kube-x"`),
			message: "can't belong to a tenant"},
		"new, reserved by a flag": {now: replaced(`"name":"team"`, `"name":"infra"`),
			message: "can't belong to a tenant"},
		"new, refused": {now: replaced(`"name":"team"`, `"name":"com"`), message: "a public top-level domain"},
		"new, refused, by an administrator": {now: replaced(`"name":"team"`, `"name":"com"`),
			verbs: []string{"update@status"}, message: "a public"},
		"new, refused, allowed by an administrator": {now: replaced(`"name":"team"`, `"name":"com",`+allowedName),
			verbs: []string{"update@status"}},
		"new, refused, allowed by its creator":   {now: replaced(`"name":"team"`, `"name":"com",`+allowedName), message: "a public"},
		"new, refused, of an existing namespace": {now: replaced(`"name":"team"`, `"name":"svc"`), message: "a public"},
		"new, allowed, of an existing namespace": {now: replaced(`"name":"team"`, `"name":"svc",`+allowedName), verbs: []string{"update@status"},
			warning: "already exists"},
		"new, retained": {now: replaced(`"billing":{"account":"1"}`, `"billing":{"account":"1"},"deletionPolicy":"Retain"`),
			verbs: []string{"deletionPolicy@team"}, message: "spec.deletionPolicy needs the verb"},
		"new, retained, by an administrator": {now: replaced(`"billing":{"account":"1"}`, `"billing":{"account":"1"},"deletionPolicy":"Retain"`),
			verbs: []string{"deletionPolicy@"}},
		"new, sudo lifts quotas": {now: replaced(`{"atRevocation":"Report"}`, `{"allow":["Quotas"]}`),
			verbs:   []string{"sudo@team"},
			message: "spec.sudo.allow: Namespace and Quotas need the verb granular:tenancy.kube-granular.dev/sudo on all"},
		"new, sudo lifts quotas, by an administrator": {now: replaced(`{"atRevocation":"Report"}`, `{"allow":["Quotas"]}`),
			verbs: []string{"sudo@"}},
		"new, sudo lifts pod security": {now: replaced(`{"atRevocation":"Report"}`, `{"allow":["Lists","Namespace"]}`),
			message: "spec.sudo.allow"},
		"new, sudo of the own tenant": {now: replaced(`{"atRevocation":"Report"}`, `{"allow":["Lists","Delete"]}`)},
		"sudo lifts quotas": {before: full, now: replaced(`{"atRevocation":"Report"}`, `{"allow":["Quotas"]}`),
			verbs: []string{"sudo@team"}, message: "spec.sudo.allow"},
		"sudo lifts quotas, by an administrator": {before: full, now: replaced(`{"atRevocation":"Report"}`, `{"allow":["Quotas"]}`),
			verbs: []string{"sudo@team", "sudo@"}},
		"sudo lifts quotas as before": {before: replaced(`{"atRevocation":"Report"}`, `{"allow":["Quotas"]}`),
			now: replaced(`{"atRevocation":"Report"}`, `{"allow":["Lists","Quotas"]}`), verbs: []string{"sudo@team"}},
		"new, the group of another": {now: replaced(`"name":"s"`, `"name":"lnamespace:victim-sudoers"`),
			message: "names that begin with lnamespace: are reserved"},
		"the group of another": {before: full,
			now: replaced(`"name":"u"`, `"name":"lnamespace:victim-sudoers"`), verbs: []string{"users@team"},
			message: "reserved"},
		"twice": {now: replaced(`[{"kind":"User","name":"u"}]`, `[{"kind":"User","name":"u"},{"kind":"User","name":"u"}]`),
			warning: `spec.users names User "u" more than once`},
		"the namespace is there": {now: replaced(`"name":"team"`, `"name":"old"`), warning: "already exists"},
		"an account of others":   {now: full, mapping: strict, message: "has no account of their own"},
		"an account of others, later": {before: full, now: replaced(`"account":"1"`, `"account":"2"`),
			verbs: []string{"billing@team"}, mapping: strict, message: "has no account of their own"},
		"an account, as master": {now: full, verbs: []string{"billing@"}, mapping: strict},
		"the old account": {before: full,
			now: replaced(`"account":"1"`, `"account":"1","labels":{"k":"v"}`), verbs: []string{"billing@team"},
			mapping: strict},
	} {
		l := webhook.Lists{Client: api(t, tc.verbs...), Check: refuseCom, IsReserved: isInfra,
			Accounts: func() (accounts.Mapping, error) { return tc.mapping, nil }}
		operation := admissionv1.Update
		if tc.before == "" {
			operation = admissionv1.Create
		}
		req := asked(operation, "mia", []string{"g"}, tc.before, tc.now)
		req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"k": {"v"}}
		r := l.Handle(t.Context(), req)
		if r.Allowed != (tc.message == "") || !r.Allowed && !strings.Contains(r.Result.Message, tc.message) {
			t.Errorf("%s: allowed %t: %+v", name, r.Allowed, r.Result)
		}
		if (len(r.Warnings) > 0) != (tc.warning != "") || tc.warning != "" && !strings.Contains(r.Warnings[0], tc.warning) {
			t.Errorf("%s: %q", name, r.Warnings)
		}
	}
	l := webhook.Lists{Client: api(t), Check: allowAll, IsReserved: isInfra, Accounts: func() (accounts.Mapping, error) { return people, errors.New("gone") }}
	if r := l.Handle(t.Context(), asked(admissionv1.Create, "mia", nil, "", full)); r.Allowed {
		t.Error("without a mapping that can be read")
	}
	if r := l.Handle(t.Context(), asked(admissionv1.Update, "mia", nil, "", full)); r.Allowed {
		t.Error("allowed, although the update has no old object")
	}
}

// TestRequestsForReservedNames checks which certificate signing requests are refused.
func TestRequestsForReservedNames(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := func(name string, groups ...string) []byte {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: groups}}, key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	for name, tc := range map[string]struct {
		request []byte
		refused string
	}{
		"a person":                 {request: request("ada", "ops")},
		"nearly":                   {request: request("ada", "lnamespace", "my-lnamespace:team-sudoers")},
		"the group":                {request: request("ada", "lnamespace:team-sudoers"), refused: "lnamespace:"},
		"the group, after another": {request: request("ada", "ops", "lnamespace:team-sudoers"), refused: "lnamespace:"},
		"the user":                 {request: request("lnamespace:team-sudoers", "ops"), refused: "lnamespace:"},
		"the user of a sudoer":     {request: request("lnamespace:team:bob", "ops"), refused: "lnamespace:"},
		"no request":               {refused: "one PEM block"},
		"something else": {request: []byte("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"),
			refused: "can't be read"},
		"the group, hidden": {request: append(request("ada"), request("ada", "lnamespace:team-sudoers")...),
			refused: "one PEM block"},
	} {
		text, err := json.Marshal(certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{Request: tc.request}})
		if err != nil {
			t.Fatal(err)
		}
		r := webhook.Requests{}.Handle(t.Context(), asked(admissionv1.Create, "mia", nil, "", string(text)))
		if r.Allowed != (tc.refused == "") || !r.Allowed && !strings.Contains(r.Result.Message, tc.refused) {
			t.Errorf("%s: allowed %t: %+v", name, r.Allowed, r.Result)
		}
	}
	if r := (webhook.Requests{}).Handle(t.Context(), asked(admissionv1.Create, "mia", nil, "", "[")); r.Allowed {
		t.Error("allowed, although the request has no object")
	}
}
