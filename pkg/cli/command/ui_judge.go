// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/ui/answer"
)

// sharedKinds are the kinds of a server for concurrent use, which those of package kinds are not for.
type sharedKinds struct {
	mu      sync.Mutex
	cluster *kinds.Cluster
}

func (k *sharedKinds) all() ([]*kinds.Kind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, err := k.cluster.All()
	return all, errors.Join(err, k.cluster.ReadEntries())
}

// Lookup implements remedy.Kinds.
func (k *sharedKinds) Lookup(name, version string) (*kinds.Kind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cluster.Lookup(name, version)
}

// TreeOf implements remedy.Kinds.
func (k *sharedKinds) TreeOf(kind *kinds.Kind, subresource string) (*schema.Tree, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cluster.TreeOf(kind, subresource)
}

// judge answers the page as can-i answers the terminal.
type judge struct {
	*options
	kinds *sharedKinds
}

// memberNote returns who stands for a group.
const memberNote = "the answer is for a user named " + answer.Member + " who is in the group"

// Judge implements answer.Judge.
func (j *judge) Judge(ctx context.Context, q *answer.Question) (out []*access.Evaluation, note string, err error) {
	j.kinds.mu.Lock()
	defer j.kinds.mu.Unlock()
	config, err := j.flags.ToRESTConfig()
	if err != nil {
		return nil, "", err
	}
	if q.User != "" {
		config = rest.CopyConfig(config)
		config.Impersonate = rest.ImpersonationConfig{UserName: q.User, Groups: q.Groups}
	}
	if q.User == answer.Member {
		note = memberNote
	}
	changed, err := j.changed(ctx, q)
	if err != nil {
		return nil, "", err
	}
	out, err = changed.evaluate(ctx, config)
	return out, note, err
}

// changed returns the requests of a question. What the commands would print is not for the terminal.
func (j *judge) changed(ctx context.Context, q *answer.Question) (*changeRequests, error) {
	quiet := *j.options
	quiet.streams.In, quiet.streams.Out, quiet.streams.ErrOut = strings.NewReader(""), io.Discard, io.Discard
	flags := changeFlags{manager: "kubectl"}
	namespace := q.Namespace
	if namespace == "" {
		var err error
		if namespace, _, err = j.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, err
		}
	}
	switch {
	case q.Command != nil:
		return flags.requestsIn(ctx, &quiet, namespace, nil, q.Command)
	case q.Target != "":
		flags.patch = q.Patch
		return flags.requestsIn(ctx, &quiet, namespace, []string{q.Target}, nil)
	}
	file, err := os.CreateTemp("", "kubectl-granular-*.yaml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString(q.Objects); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	flags.files.Filenames = []string{file.Name()}
	out, err := flags.requestsIn(ctx, &quiet, namespace, nil, nil)
	if err != nil { // the name of the file says nothing to who wrote the text
		return nil, errors.New(strings.ReplaceAll(err.Error(), file.Name(), "the text"))
	}
	return out, nil
}
