// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// wrapper is how a log service or an agent stores an event inside a JSON object of its own.
type wrapper struct {
	// name is what a warning calls it, with its article.
	name string
	// keys leads to the event: the names of nested keys. A key that ends with [] holds a list. The
	// last value is the event, or a string with its JSON.
	keys string
}

// wrappers are tried in this order. The keys are those of the documentation of each service; an
// event itself has none of them.
var wrappers = []wrapper{
	{"an EventList", "items[]"},
	{"a record of CloudWatch Logs", "events[].message"},
	{"a record of CloudWatch Logs", "logEvents[].message"},
	{"a record of CloudWatch Logs", "@message"},
	{"a record of Azure Monitor", "records[].properties.log"},
	{"a record of Azure Monitor", "properties.log"},
	{"a row of Azure Log Analytics", "log_s"},
	{"an entry of Google Cloud Logging", "entries[].jsonPayload"},
	{"an entry of Google Cloud Logging", "jsonPayload"},
	{"a record of Fluentd or Fluent Bit", "log"},
	{"a record of Fluentd or Fluent Bit", "message"},
}

// maxNesting is how many wrappers may be around an event, such as a list of records of an agent.
const maxNesting = 4

// errGoogle is the reason why some entries of Google Cloud Logging have no event.
var errGoogle = fmt.Errorf("%w, but a Cloud Audit Log of Google, which keeps only some fields of an event", ErrNotAnEvent)

// use passes an event to Use. If the value is not an event, use looks for events inside it.
func (r *Reader) use(value []byte, nesting int) error {
	failed := r.Use(value)
	if !errors.Is(failed, ErrNotAnEvent) {
		return failed
	}
	if nesting == maxNesting {
		return failed
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) != nil {
		return failed
	}
	for _, w := range wrappers {
		events, found := find(object, strings.Split(w.keys, "."))
		if !found {
			continue
		}
		var first error
		for _, event := range events {
			switch err := r.use(event, nesting+1); {
			case err == nil:
			case !errors.Is(err, ErrNotAnEvent):
				return err
			case first == nil:
				first = err
			}
		}
		if first != nil {
			return fmt.Errorf("%s: %w", w.name, first)
		}
		return nil
	}
	if _, google := object["protoPayload"]; google {
		return errGoogle
	}
	return failed
}

// find returns the values to which keys leads, and whether the object has these keys. A string is
// returned as its text.
func find(object map[string]json.RawMessage, keys []string) (events [][]byte, found bool) {
	name, list := strings.CutSuffix(keys[0], "[]")
	value, ok := object[name]
	if !ok {
		return nil, false
	}
	values := []json.RawMessage{value}
	if list {
		values = nil
		if json.Unmarshal(value, &values) != nil {
			return nil, false
		}
	}
	for _, value := range values {
		if len(keys) > 1 {
			var inner map[string]json.RawMessage
			if json.Unmarshal(value, &inner) != nil {
				return nil, false
			}
			below, ok := find(inner, keys[1:])
			if !ok {
				return nil, false
			}
			events = append(events, below...)
			continue
		}
		var text string
		if json.Unmarshal(value, &text) == nil {
			value = []byte(text)
		}
		events = append(events, bytes.TrimSpace(value))
	}
	return events, true
}
