// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/refusal"
	"kube-granular.dev/test/integration/harness"
)

// sameInCauses checks that the causes of a refusal tell programs the same as its message tells people.
func sameInCauses(t *testing.T, status metav1.Status) {
	t.Helper()
	if _, ok := refusal.FromCauses(status.Details.Causes); !ok {
		t.Fatalf("no causes: %+v", status.Details.Causes)
	}
	got, err := denial.FromStatus(&status)
	if err != nil {
		t.Fatal(err)
	}
	want, err := denial.Parse(status.Message)
	if err != nil {
		t.Fatalf("%s: %v", status.Message, err)
	}
	if diff := cmp.Diff(want, []*denial.Denial{got}); diff != "" {
		t.Errorf("%s: the causes and the message differ (-message +causes):\n%s", status.Message, diff)
	}
}

// TestCausesInEveryForm checks that a refusal has the same causes in every content type of an answer.
func TestCausesInEveryForm(t *testing.T) {
	s := onStage(t)
	path, _ := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: causes}, data: {a: "secret value"}}`)
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.WithSerializer(cbor.NewSerializerInfo))
	statuses := map[string]*metav1.Status{}
	for _, mediaType := range mediaTypes {
		s.Twins(t, path, "", []string{"granular:data", "granular", "get"}, func(user string) harness.Answer {
			answer := s.SendAccept(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], mediaType, `{"data":{"a":"other `+mediaType+`"}}`)
			if answer.Code != http.StatusForbidden {
				return answer
			}
			object, err := runtime.Decode(codecs.UniversalDeserializer(), answer.Body)
			status, ok := object.(*metav1.Status)
			if err != nil || !ok {
				t.Fatalf("%s: %v: %s", mediaType, err, answer.Body)
			}
			sameInCauses(t, *status)
			if text := status.String(); strings.Contains(text, "value") || strings.Contains(text, "other") {
				t.Errorf("a value is shown: %s", text)
			}
			status.TypeMeta = metav1.TypeMeta{}
			user, status.Message = "jane", strings.ReplaceAll(status.Message, user, "jane")
			for i := range status.Details.Causes {
				if cause := &status.Details.Causes[i]; cause.Type == refusal.UserCause {
					cause.Message = user
				}
			}
			statuses[mediaType] = status
			return answer
		})
		if diff := cmp.Diff(statuses[mediaTypes[0]], statuses[mediaType]); diff != "" {
			t.Errorf("%s differs from %s:\n%s", mediaType, mediaTypes[0], diff)
		}
	}
}

// TestCausesInTheAuditLog checks that the audit log has the causes of a refusal, so that nobody has to parse
// the message there.
func TestCausesInTheAuditLog(t *testing.T) {
	const supersafe, path = "system:serviceaccount:default:supersafe", "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=causes"
	code, body, err := harness.Request(on, supersafe, http.MethodPatch, path, harness.ContentTypes["merge"], `{"spec":{"replicas":9}}`)
	var status metav1.Status
	if err != nil || code != http.StatusForbidden || json.Unmarshal([]byte(body), &status) != nil {
		t.Fatalf("%d %s: %v", code, body, err)
	}
	sameInCauses(t, status)
	want, err := denial.FromStatus(&status)
	if err != nil {
		t.Fatal(err)
	}
	var event []byte
	harness.Until(t, "there is an audit event of "+path, func() bool {
		log, err := os.ReadFile(auditLog)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(log) {
			if bytes.Contains(line, []byte("fieldManager=causes")) && bytes.Contains(line, []byte("ResponseComplete")) {
				event = line
			}
		}
		return event != nil
	})
	// Without the message, the causes alone tell why.
	got, err := denial.FromEvent(bytes.ReplaceAll(event, []byte("is forbidden"), []byte("is refused")))
	if err != nil || got == nil {
		t.Fatalf("%s: %v", event, err)
	}
	if diff := cmp.Diff(want, got.Denial); diff != "" {
		t.Errorf("the audit log differs from the answer:\n%s", diff)
	}
	var read struct{ ResponseStatus metav1.Status }
	if err := json.Unmarshal(event, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(status.Details, read.ResponseStatus.Details); diff != "" {
		t.Errorf("the details in the audit log differ:\n%s", diff)
	}
}
