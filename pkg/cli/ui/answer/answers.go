// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/remedy"
	"kube-granular.dev/pkg/cli/ui/model"
	"kube-granular.dev/pkg/cli/ui/snapshot"
)

// Judge reports whether a change would be allowed.
type Judge interface {
	// Judge rehearses a change, and returns what the commands of the plugin return. The note says what it
	// could not ask, or is empty.
	Judge(ctx context.Context, question *Question) (evaluations []*access.Evaluation, note string, err error)
}

// Answers are the answers about one cluster, or about files. They are safe for concurrent use.
type Answers struct {
	// Collect collects anew.
	Collect func(context.Context) (*snapshot.Input, error)
	// Kinds are the kinds of the server, or nil for files. They must be safe for concurrent use.
	Kinds remedy.Kinds
	// Log is the audit log, or nil.
	Log *Log
	// Judge is nil for files.
	Judge Judge

	mu   sync.Mutex
	last *state
}

// state is one snapshot.
type state struct {
	snapshot *model.Snapshot
	json     []byte
	index    *index
}

// errNotCollected is returned before Refresh has succeeded.
var errNotCollected = errors.New("nothing is collected yet")

// Refresh collects anew, and returns the snapshot.
func (a *Answers) Refresh(ctx context.Context) (*model.Snapshot, error) {
	input, err := a.Collect(ctx)
	if err != nil {
		return nil, err
	}
	s, err := snapshot.Make(input)
	if err != nil {
		return nil, err
	}
	names := newIndex(s)
	if a.Log != nil {
		a.addDenials(ctx, s, names)
	}
	text, err := printing.MarshalJSON(s)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = &state{s, text, names}
	return s, nil
}

// addDenials adds the refusals of the audit log. What can't be read of it is unknown.
func (a *Answers) addDenials(ctx context.Context, s *model.Snapshot, names *index) {
	unknown := func(why string) {
		s.Unknown = append(s.Unknown, model.Unknown{What: model.UnknownDenials, Why: why})
	}
	refused, err := a.Log.Read(ctx)
	if err != nil {
		unknown(err.Error())
	}
	more := 0
	s.About.Denials = a.Log.Name
	if s.Denials, more = a.denials(refused, names); more > 0 {
		unknown(fmt.Sprintf("%d earlier refusals of the log are not shown", more))
	}
	if n := a.Log.Unread(); n > 0 {
		unknown(fmt.Sprintf("%d lines of the log could not be read", n))
	}
}

// Snapshot returns the last snapshot as JSON.
func (a *Answers) Snapshot() ([]byte, error) {
	s, err := a.current()
	if err != nil {
		return nil, err
	}
	return s.json, nil
}

func (a *Answers) current() (*state, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		return nil, errNotCollected
	}
	return a.last, nil
}

// Allowed is the answer whether a change would be allowed.
type Allowed struct {
	Evaluations []*access.Evaluation `json:"evaluations"`
	// Note says what could not be asked.
	Note string `json:"note,omitempty"`
}

// Allowed reports whether a change would be allowed, field by field.
func (a *Answers) Allowed(ctx context.Context, asked *Asked) (*Allowed, error) {
	if a.Judge == nil {
		return nil, errors.New("only a server can say whether a change would be allowed, and this page is from files")
	}
	question, err := ParseQuestion(asked)
	if err != nil {
		return nil, err
	}
	evaluations, note, err := a.Judge.Judge(ctx, question)
	if err != nil {
		return nil, err
	}
	return &Allowed{evaluations, note}, nil
}
