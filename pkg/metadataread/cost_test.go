// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/kubernetes/scheme"
)

// stored is a storage with one object.
type stored struct{ *corev1.Secret }

func (s stored) Get(ctx context.Context, _ string, _ *metav1.GetOptions) (apiruntime.Object, error) {
	return s.Secret, granular.ConfirmReduced(ctx)
}

// serve returns a function that sends a get of an object through the filter and the handler of a server, and
// returns the code of its answer. The caller holds the verbs. With gate, the server has the gate.
func serve(t testing.TB, gate bool, accept string, verbs ...string) func() int {
	t.Helper()
	held := decisions{}
	for _, verb := range verbs {
		held[verb] = upstream.DecisionAllow
	}
	configured := upstream.AuthorizerFunc(held.decide)
	authorizer := upstream.UnconditionalAuthorizer(configured)
	if gate {
		authorizer = withReads{configured, New(configured)}
	}
	kind := corev1.SchemeGroupVersion.WithKind("Secret")
	scope := &handlers.RequestScope{
		Namer:      handlers.ContextBasedNaming{Namer: meta.NewAccessor()},
		Serializer: scheme.Codecs, ParameterCodec: scheme.ParameterCodec,
		Convertor: scheme.Scheme, Kind: kind, Resource: kind.GroupVersion().WithResource("secrets"), HubGroupVersion: kind.GroupVersion(),
		MetaGroupVersion: metav1.SchemeGroupVersion, TableConvertor: rest.NewDefaultTableConvertor(corev1.Resource("secrets")),
	}
	handler := filters.WithAuthorization(handlers.GetResource(stored{secret()}, scope), authorizer, scheme.Codecs)
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "get", APIVersion: "v1", Resource: "secrets", Namespace: "shop", Name: "db"})
	req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/shop/secrets/db", nil).WithContext(ctx)
	req.Header.Set("Accept", accept)
	return func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
}

// costs are the requests whose costs with the gate and without it are compared.
var costs = map[string]struct {
	accept string
	verbs  []string
	code   int
}{
	"get":                {"application/json", []string{"get"}, http.StatusOK},
	"get, as metadata":   {metadataAccept, []string{"get"}, http.StatusOK},
	"get, as a table":    {kubectlAccept, []string{"get", "readmetadata"}, http.StatusOK},
	"forbidden":          {"application/json", nil, http.StatusForbidden},
	"forbidden metadata": {metadataAccept, nil, http.StatusForbidden},
}

// TestReadersAllocateNothing checks that a caller who may get an object pays no allocation, and neither does
// one who may not and does not ask for metadata.
func TestReadersAllocateNothing(t *testing.T) {
	for name, tc := range costs {
		if name == "forbidden metadata" {
			continue // it is asked about
		}
		allocations := func(gate bool) float64 {
			send := serve(t, gate, tc.accept, tc.verbs...)
			if code := send(); code != tc.code {
				t.Fatalf("%s: %d, wanted %d", name, code, tc.code)
			}
			return testing.AllocsPerRun(1000, func() { send() })
		}
		if with, without := allocations(true), allocations(false); with != without {
			t.Errorf("%s: %v allocations with the gate, and %v without", name, with, without)
		}
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		if granular.MetadataReadFrom(ctx) != nil || granular.ConfirmReduced(ctx) != nil {
			t.Error("a read is marked")
		}
	}); n != 0 {
		t.Errorf("%v allocations where the handler and the storage look for a mark", n)
	}
}

// BenchmarkReads compares the CPU time of reads with the gate and without it, which take turns. The metric
// ratio is the time with the gate, divided by the time without. For a read of metadata by the verb
// readmetadata, the other side is the same read by the verb get.
func BenchmarkReads(b *testing.B) {
	compare := func(name string, with, without func() int) {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var times [2]time.Duration
			sides := []func() int{with, without}
			for turn := 0; b.Loop(); turn++ {
				for i := range sides { // each side begins every other turn
					side := (turn + i) % 2
					began := threadTime(b)
					for range 100 {
						sides[side]()
					}
					times[side] += threadTime(b) - began
				}
			}
			b.ReportMetric(float64(times[0])/float64(times[1]), "ratio")
			b.ReportMetric(float64(times[0].Nanoseconds())/float64(b.N)/100, "cpu-ns/read")
		})
	}
	for name, tc := range costs {
		compare(name, serve(b, true, tc.accept, tc.verbs...), serve(b, false, tc.accept, tc.verbs...))
	}
	compare("readmetadata, to get", serve(b, true, metadataAccept, "readmetadata"), serve(b, true, metadataAccept, "get"))
}

func threadTime(t testing.TB) time.Duration {
	ts := unix.Timespec{}
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}
