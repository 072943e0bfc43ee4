// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

const (
	// hidden is in everything of a Secret that readers of metadata must not see.
	hidden       = "xHIDDENx"
	hiddenBase64 = "eEhJRERFTng"

	readSecrets   = `{"apiGroups":[""],"resources":["secrets"],"verbs":["readmetadata"]}`
	wholeSecrets  = `{"apiGroups":[""],"resources":["secrets"],"verbs":["get","list","watch"]}`
	metadataLists = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	metadataOnes  = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// metadataOf is a read of metadata by bot.
func metadataOf(path, accept, under string) request {
	return request{as: "bot", method: "GET", path: path, under: under, header: http.Header{"Accept": {accept}}}
}

// shown checks that a read shows the name of the Secret, and nothing that is hidden.
func (r request) shown(t *testing.T, names string) {
	t.Helper()
	if got := r.want(t, 200, names); strings.Contains(got.body, hidden) || strings.Contains(got.body, hiddenBase64) {
		t.Errorf("%s shows data: %s", r.path, got)
	}
}

// TestMetadataReads checks that a delegation of the verb readmetadata gives a delegate the metadata of
// objects in its scope, and that it ends with the delegator's right.
//
// Attack: a delegate with readmetadata alone reads data, another namespace or another resource, or reads after the delegator has
// lost the verb
// Answer: 403
func TestMetadataReads(t *testing.T) {
	n, binding := stage(t, readSecrets)
	elsewhere, _ := stage(t, readSecrets)
	secrets := "/api/v1/namespaces/" + n + "/secrets"
	for _, namespace := range []string{n, elsewhere} {
		apply(t, "/api/v1/namespaces/"+namespace+"/secrets",
			`{"metadata":{"name":"db","annotations":{"note":"`+hidden+`"}},"stringData":{"`+hidden+`":"`+hidden+`"}}`)
	}
	d := delegation{scope: n, rules: readSecrets}.by(t, "alice", "")
	other := delegation{scope: n,
		rules: `{"apiGroups":[""],"resources":["secrets"],"verbs":["readmetadata"],"resourceNames":["other"]}`}.by(t, "alice", "")
	const watched = "?watch=1&resourceVersion=0&timeoutSeconds=5"
	for path, accept := range map[string]string{secrets: metadataLists, secrets + "/db": metadataOnes, secrets + watched: metadataOnes} {
		metadataOf(path, accept, d).shown(t, `"name":"db"`)
		// The twins: without the delegation, under one that names another object, for the whole object.
		metadataOf(path, accept, "").want(t, 403)
		metadataOf(path, accept, other).want(t, 403)
		metadataOf(path, "application/json", d).want(t, 403)
		metadataOf(strings.Replace(path, n, elsewhere, 1), accept, d).want(t, 403)
		metadataOf(strings.Replace(path, "secrets", "configmaps", 1), accept, d).want(t, 403)
	}
	request{as: "bot", method: "PATCH", path: secrets + "/db", under: d, contentType: mergePatch,
		body: `{"metadata":{"labels":{"a":"b"}}}`}.want(t, 403)
	request{as: "bot", method: "DELETE", path: secrets + "/db", under: d}.want(t, 403)
	metadataOf(secrets+"/db", metadataOnes, d).shown(t, `"name":"db"`)
	// The reads count as uses, so a delegation that ends when it is idle does not end.
	used := delegation{scope: n, rules: readSecrets, more: `,"idleSeconds":60`}.by(t, "alice", "")
	harness.Until(t, "the use is recorded", func() bool {
		metadataOf(secrets, metadataLists, used).shown(t, `"name":"db"`)
		return read(t, used).Status.LastUsed != nil
	})
	request{as: "root", method: "DELETE", path: binding}.want(t, 200)
	metadataOf(secrets+"/db", metadataOnes, d).eventually(t, 403)
}

// TestDelegatingMetadataReads checks who can delegate the verb readmetadata, and that a delegation with
// conditions does not allow it.
//
// Attack: a delegation of readmetadata by somebody who holds only a part of get, list and watch, or one with conditions, which say
// something about the content of objects
// Answer: 403
func TestDelegatingMetadataReads(t *testing.T) {
	for name, tc := range map[string]struct {
		held, more     string
		created, reads int
	}{
		"the-verb":       {readSecrets, "", 201, 200},
		"all-reads":      {wholeSecrets, "", 201, 200},
		"two-reads":      {`{"apiGroups":[""],"resources":["secrets"],"verbs":["get","list"]}`, "", 403, 0},
		"writes":         {`{"apiGroups":[""],"resources":["secrets"],"verbs":["create","update","patch","granular"]}`, "", 403, 0},
		"with-condition": {wholeSecrets, `,"conditions":[{"expression":"true"}]`, 201, 403},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := stage(t, tc.held)
			d, path := delegation{scope: n, rules: readSecrets, more: tc.more}, "/api/v1/namespaces/"+n+"/secrets"
			request{as: "alice", method: "POST", path: delegations, body: d.body(n)}.want(t, tc.created)
			if tc.created == 201 {
				metadataOf(path, metadataLists, n).want(t, tc.reads)
			}
		})
	}
}
