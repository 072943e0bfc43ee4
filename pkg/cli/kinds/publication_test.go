// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/client-go/rest"
)

const (
	metadata = `"meta.ObjectMeta":{"type":"object","properties":{"labels":{"type":"object","x-kubernetes-permission-verb":"labels"}}}`
	kind     = `"Guard":{"type":"object","x-kubernetes-permission-verb":"guard",` +
		`"x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Guard"}]}`

	withoutGuard = `{"components":{"schemas":{` + metadata + `}}}`
	withGuard    = `{"components":{"schemas":{` + metadata + `,` + kind + `}}}`
)

var (
	exampleV1 = schema.GroupVersion{Group: "example.com", Version: "v1"}
	guard     = exampleV1.WithKind("Guard")
)

// publisher is a server that answers each look at its documents with the next of some answers, and
// the last one again and again.
type publisher struct {
	discovery.DiscoveryInterface
	answers []answer
	looks   int
}

// answer is a document, or an error in its place. With neither, the document does not exist.
type answer struct {
	document string
	err      error
}

func (p *publisher) OpenAPIV3() openapi.Client { return p }

// RESTClient returns none, so that nobody asks for the flags of the server.
func (p *publisher) RESTClient() rest.Interface { return nil }

func (p *publisher) Paths() (map[string]openapi.GroupVersion, error) {
	next := p.answers[min(p.looks, len(p.answers)-1)]
	p.looks++
	if next == (answer{}) {
		return nil, nil
	}
	return map[string]openapi.GroupVersion{
		"apis/example.com/v1": openapitest.FakeGroupVersion{GVSpec: []byte(next.document), ForcedErr: next.err},
	}, nil
}

// TestNewDefinition checks that a command waits for the schemas of a definition that is new, or
// whose schemas the server withdraws for a moment.
func TestNewDefinition(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{}, "")
	for name, answers := range map[string][]answer{
		"at once":             {{document: withGuard}},
		"no document yet":     {{}, {}, {document: withGuard}},
		"another kind's":      {{document: withoutGuard}, {document: withGuard}},
		"withdrawn meanwhile": {{err: missing}, {}, {document: withGuard}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &publisher{answers: answers}
			tree, doc, err := New(p, nil, nil).publishedTree(exampleV1, guard)
			if err != nil || tree == nil || doc == nil {
				t.Fatalf("tree %v, document %v: %v", tree, doc, err)
			}
			if p.looks != len(answers) {
				t.Errorf("%d looks, want %d", p.looks, len(answers))
			}
		})
	}
}

// TestNeverPublished checks that a command gives up, waits only once for all kinds together, and
// does not wait if the server fails for another reason.
func TestNeverPublished(t *testing.T) {
	p := &publisher{answers: []answer{{}}}
	c := New(p, nil, nil)
	c.patience = 10 * pause
	if _, _, err := c.publishedTree(exampleV1, guard); !unpublished(err) {
		t.Errorf("the schema is missing: %v", err)
	}
	if p.looks < 2 {
		t.Errorf("%d looks: it did not wait", p.looks)
	}
	if c.patience > 0 {
		t.Errorf("%v of patience are left after a wait of all", c.patience)
	}
	looks := p.looks
	if _, _, err := c.publishedTree(exampleV1, exampleV1.WithKind("Other")); !unpublished(err) {
		t.Errorf("the next kind: %v", err)
	}
	if p.looks > looks+2 {
		t.Errorf("%d more looks after the wait is over", p.looks-looks)
	}

	failed := errors.New("connection refused")
	p = &publisher{answers: []answer{{err: failed}}}
	if _, _, err := New(p, nil, nil).publishedTree(exampleV1, guard); !errors.Is(err, failed) || p.looks != 1 {
		t.Errorf("%d looks: %v", p.looks, err)
	}
}
