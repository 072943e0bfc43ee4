// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import "sync"

// violationCounts counts the requests that attributes with mode Audit would have refused, by
// attribute.
type violationCounts struct {
	lock sync.Mutex
	of   map[name]int64
}

// CountViolations counts a request that the named attributes, which have mode Audit, would have
// refused. They are in one namespace, or cluster-wide if namespace is empty. It does not block;
// their statuses are written later.
func (p *Protection) CountViolations(namespace string, attributes ...string) {
	p.counts.lock.Lock()
	defer p.counts.lock.Unlock()
	for _, of := range attributes {
		p.counts.of[name{namespace, of}]++
	}
}

// Violations returns how many violations of an attribute are counted and not in its status yet.
func (p *Protection) Violations(namespace, of string) int64 {
	p.counts.lock.Lock()
	defer p.counts.lock.Unlock()
	return p.counts.of[name{namespace, of}]
}

// SubtractViolations subtracts the n violations of an attribute that were written to its status.
func (p *Protection) SubtractViolations(namespace, of string, n int64) {
	p.counts.lock.Lock()
	defer p.counts.lock.Unlock()
	if left := p.counts.of[name{namespace, of}] - n; left > 0 {
		p.counts.of[name{namespace, of}] = left
		return
	}
	delete(p.counts.of, name{namespace, of})
}

// PruneViolations removes the counts of attributes that no longer exist.
func (p *Protection) PruneViolations() {
	there := map[name]bool{}
	for _, a := range p.index.Attributes() {
		there[nameOf(a.Attribute)] = true
	}
	p.counts.lock.Lock()
	defer p.counts.lock.Unlock()
	for n := range p.counts.of {
		if !there[n] {
			delete(p.counts.of, n)
		}
	}
}
