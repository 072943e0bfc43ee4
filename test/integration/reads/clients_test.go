// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/test/integration/harness"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// makeSecret creates a secret with data, annotations and managed fields that have the marker.
func makeSecret(t *testing.T, secretName string) *kubernetes.Clientset {
	t.Helper()
	client := harness.Administrator(t, on)
	_, err := client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName, Labels: map[string]string{"made": secretName}, Annotations: map[string]string{"note": marker}},
		StringData: map[string]string{marker: marker},
	}, metav1.CreateOptions{FieldManager: marker})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Secrets("default").Delete(t.Context(), secretName, metav1.DeleteOptions{})
	})
	return client
}

func TestKubectl(t *testing.T) {
	makeSecret(t, "kubectl")
	allow(t, "kubectl-reader", rule("", "secrets", "readmetadata"))
	run := func(user string, args ...string) (string, error) {
		return harness.Kubectl(t, on, "", append([]string{"--as", user, "-n", "default"}, args...)...)
	}
	for _, args := range [][]string{
		{"get", "secrets"}, {"get", "secret", "kubectl"}, {"get", "secrets", "-A"}, {"get", "secrets", "--show-labels"},
		{"get", "secrets", "-l", "made=kubectl"}, {"get", "secrets", "--sort-by", ".metadata.name"}, {"get", "secrets", "--chunk-size=1"},
	} {
		out, err := run("kubectl-reader", args...)
		if err != nil || !strings.Contains(out, "CREATED AT") || !strings.Contains(out, "kubectl") || shows([]byte(out)) || strings.Contains(out, "Opaque") {
			t.Errorf("kubectl %v: %v\n%s", args, err, out)
		}
		if out, err := run("kubectl-stranger", args...); err == nil || !strings.Contains(out, "cannot") {
			t.Errorf("without the verb, kubectl %v: %v\n%s", args, err, out)
		}
	}
	for _, args := range [][]string{{"get", "secret", "kubectl", "-o", "yaml"}, {"describe", "secret", "kubectl"}, {"get", "secrets", "-o", "jsonpath={.items[*].data}"},
		{"get", "configmaps"}, {"delete", "secret", "kubectl"}} {
		if out, err := run("kubectl-reader", args...); err == nil || !strings.Contains(out, "orbidden") || shows([]byte(out)) {
			t.Errorf("kubectl %v: %v\n%s", args, err, out)
		}
	}
}

// impersonating returns the configuration of a client that reads as a user.
func impersonating(t *testing.T, user string) *rest.Config {
	t.Helper()
	config := rest.CopyConfig(harness.Config(t, on, "admin"))
	config.Impersonate = harness.Impersonating(user)
	return config
}

// TestInformers runs a metadata informer, with the list streamed and not, and pages of a list.
func TestInformers(t *testing.T) {
	allow(t, "informer", rule("", "secrets", "readmetadata"))
	for _, streamed := range []bool{true, false} {
		t.Run(fmt.Sprintf("streamed=%t", streamed), func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, streamed)
			secretName := fmt.Sprintf("informer-%t", streamed)
			administrator := makeSecret(t, secretName)
			client, err := metadata.NewForConfig(impersonating(t, "informer"))
			if err != nil {
				t.Fatal(err)
			}
			seen := make(chan string, 1000)
			informer := metadatainformer.NewFilteredMetadataInformer(client, secrets, "default", 0, cache.Indexers{}, nil).Informer()
			record := func(event string, obj any) {
				m, ok := obj.(*metav1.PartialObjectMetadata)
				if !ok || len(m.Annotations) > 0 || len(m.ManagedFields) > 0 || shows([]byte(fmt.Sprint(m))) {
					t.Errorf("%s: %v", event, obj)
					return
				}
				if m.Name == secretName {
					seen <- event
				}
			}
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { record("add", obj) },
				UpdateFunc: func(_, obj any) { record("update", obj) },
				DeleteFunc: func(obj any) { record("delete", obj) },
			}); err != nil {
				t.Fatal(err)
			}
			go informer.RunWithContext(t.Context())
			if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
				t.Fatal("not synced")
			}
			wait := func(want string) {
				t.Helper()
				select {
				case got := <-seen:
					if got != want {
						t.Errorf("%s, wanted %s", got, want)
					}
				case <-time.After(time.Minute):
					t.Fatalf("no event: %s", want)
				}
			}
			wait("add")
			secret, err := administrator.CoreV1().Secrets("default").Get(t.Context(), secretName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			secret.Data["more"] = []byte(marker)
			if _, err := administrator.CoreV1().Secrets("default").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			wait("update")
			if err := administrator.CoreV1().Secrets("default").Delete(t.Context(), secretName, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			wait("delete")
		})
	}
}

func TestPages(t *testing.T) {
	for _, one := range []string{"page-a", "page-b", "page-c"} {
		makeSecret(t, one)
	}
	allow(t, "pages", rule("", "secrets", "readmetadata"))
	client, err := metadata.NewForConfig(impersonating(t, "pages"))
	if err != nil {
		t.Fatal(err)
	}
	found, options := 0, metav1.ListOptions{Limit: 1}
	for {
		list, err := client.Resource(secrets).Namespace("default").List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			if strings.HasPrefix(item.Name, "page-") {
				found++
			}
		}
		if options.Continue = list.Continue; list.Continue == "" {
			break
		}
	}
	if found != 3 {
		t.Errorf("%d secrets", found)
	}
}

// stream reads the first lines of a watch that stays open.
func stream(t *testing.T, path, user string, header http.Header) (int, string) {
	t.Helper()
	config := rest.CopyConfig(harness.Config(t, on, "admin"))
	config.NextProtos = []string{"http/1.1"} // WebSockets need it
	config.Impersonate = harness.Impersonating(user)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, on.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, _ := io.ReadAll(bufio.NewReader(resp.Body))
	return resp.StatusCode, string(out)
}

// TestStreams watches by the old paths and by WebSockets.
//
// Attack: a caller with readmetadata alone watches by WebSockets, by an old path, or as a list kind, to which upstream can't
// convert an event and so sends the whole object
// Answer: events with metadata alone, and 403 for the list kind
func TestStreams(t *testing.T) {
	makeSecret(t, "streamed")
	allow(t, "streams", rule("", "secrets", "readmetadata"))
	accept := as1("application/json", "PartialObjectMetadata")
	for name, path := range map[string]string{
		"watch":              "/api/v1/namespaces/default/secrets?watch=1&",
		"one":                "/api/v1/namespaces/default/secrets?watch=1&fieldSelector=metadata.name%3Dstreamed&",
		"old path":           "/api/v1/watch/namespaces/default/secrets?",
		"old path of one":    "/api/v1/watch/namespaces/default/secrets/streamed?",
		"old path of no one": "/api/v1/watch/secrets?",
	} {
		path += "resourceVersion=0&timeoutSeconds=1"
		for _, upgraded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, websocket=%t", name, upgraded), func(t *testing.T) {
				for form, answered := range map[string]bool{accept: true, kubectl: true, "application/json": false, as1("application/json", "PartialObjectMetadataList"): false} {
					header, success := http.Header{}, http.StatusOK
					if upgraded {
						header, success = upgrade.Clone(), http.StatusSwitchingProtocols
					}
					header.Set("Accept", form)
					code, body := stream(t, path, "streams", header)
					if shows([]byte(body)) || (code == success) != answered || answered && !strings.Contains(body, "streamed") {
						t.Errorf("%s: %d %s", form, code, body)
					}
				}
			})
		}
	}
}
