// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// reducedWatch reduces the objects of a watch. If an object can't be reduced, the watch ends with
// an error event: upstream's encoder sends an object whole if it can't convert it.
type reducedWatch struct {
	events watch.Interface
	out    chan watch.Event
	done   chan struct{}
	stop   sync.Once
	// hidden returns what may be seen of an error.
	hidden func(error) *metav1.Status
}

func newReducedWatch(events watch.Interface, hidden func(error) *metav1.Status) *reducedWatch {
	w := &reducedWatch{events: events, out: make(chan watch.Event), done: make(chan struct{}), hidden: hidden}
	go w.run()
	return w
}

// ResultChan implements watch.Interface.
func (w *reducedWatch) ResultChan() <-chan watch.Event { return w.out }

// Stop implements watch.Interface.
func (w *reducedWatch) Stop() {
	w.stop.Do(func() { close(w.done) })
	w.events.Stop()
}

func (w *reducedWatch) run() {
	defer close(w.out)
	for {
		select {
		case event, more := <-w.events.ResultChan():
			if !more || !w.send(event) {
				return
			}
		case <-w.done:
			return
		}
	}
}

// send sends what may be seen of an event, and reports whether the watch goes on.
func (w *reducedWatch) send(event watch.Event) bool {
	reduced, err := w.reduce(event)
	if err != nil {
		reduced = watch.Event{Type: watch.Error, Object: w.hidden(err)}
	}
	select {
	case w.out <- reduced:
	case <-w.done:
		return false
	}
	if err != nil {
		w.events.Stop()
	}
	return err == nil
}

func (w *reducedWatch) reduce(event watch.Event) (watch.Event, error) {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		obj, err := reducedObject(event.Object)
		return watch.Event{Type: event.Type, Object: obj}, err
	case watch.Bookmark:
		obj, err := reducedBookmark(event.Object)
		return watch.Event{Type: event.Type, Object: obj}, err
	case watch.Error:
		return watch.Event{Type: event.Type, Object: w.hidden(apierrors.FromObject(event.Object))}, nil
	}
	return watch.Event{}, fmt.Errorf("an event of the type %q can't be reduced", event.Type)
}

// reducedBookmark returns the resource version of a bookmark, and the annotation by which the client
// of a streamed list knows that the list is complete. The server writes that annotation itself.
func reducedBookmark(bookmark runtime.Object) (*metav1.PartialObjectMetadata, error) {
	accessor, err := meta.Accessor(bookmark)
	if err != nil {
		return nil, fmt.Errorf("bookmark %T has no metadata: %w", bookmark, err)
	}
	out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: accessor.GetResourceVersion()}}
	if accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		out.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return out, nil
}
