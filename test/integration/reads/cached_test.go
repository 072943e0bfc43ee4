// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/test/integration/harness"
)

// TestCachedEncodings checks that watchers of whole objects, and watchers that may read metadata alone,
// never get what the server encoded for the others. The storage keeps the encodings of an event on its
// object, and all watchers of the same form share them.
//
// Attack: a caller with readmetadata alone watches together with callers who read whole objects or their metadata, so that the
// server sends it what it encoded for them
// Answer: events without data, and those of the others are complete
func TestCachedEncodings(t *testing.T) {
	client := makeSecret(t, "encoded")
	allow(t, "encoded-reader", rule("", "secrets", "readmetadata"))
	const path = "/api/v1/namespaces/default/secrets?watch=1&resourceVersion=0&timeoutSeconds=3&fieldSelector=metadata.name%3Dencoded"
	administrator, reader := as(t, ""), as(t, "encoded-reader")
	forms := []string{as1("application/json", "PartialObjectMetadata"), as1("application/vnd.kubernetes.protobuf", "PartialObjectMetadata"),
		as1("application/cbor", "PartialObjectMetadata"), kubectl, "application/json;as=Table;v=v1;g=meta.k8s.io"}
	type watched struct {
		who, accept string
		answer      harness.Answer
	}
	answers, group := make(chan watched, 100), sync.WaitGroup{}
	for range 3 {
		for _, accept := range append([]string{"application/json", "application/vnd.kubernetes.protobuf"}, forms...) {
			group.Go(func() { answers <- watched{"administrator", accept, administrator.get(t, path, accept)} })
		}
		for _, accept := range forms {
			group.Go(func() { answers <- watched{"reader", accept, reader.get(t, path, accept)} })
		}
	}
	const writes = 20
	for i := range writes {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"count":"c%dc"}},"stringData":{"count":"%s%d"}}`, i, marker, i)
		if _, err := client.CoreV1().Secrets("default").Patch(t.Context(), "encoded", apitypes.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
	close(answers)
	for one := range answers {
		body := one.answer.Body
		if !bytes.Contains(body, []byte("encoded")) {
			t.Errorf("the %s gets no event as %s: %v", one.who, one.accept, one.answer)
		}
		if got, want := shows(body), one.who == "administrator"; got != want {
			t.Errorf("the %s sees data as %s: %t", one.who, one.accept, got)
		}
		last := fmt.Sprintf("c%dc", writes-1)
		if isTable := bytes.Contains(body, []byte(`"Table"`)); !isTable && !bytes.Contains(body, []byte(last)) {
			t.Errorf("the %s does not see the last event as %s", one.who, one.accept)
		}
	}
}
