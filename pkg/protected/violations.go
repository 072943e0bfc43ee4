// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import "sync"

// violationCounts has, for each attribute with mode Audit, the number of requests that the
// attribute would have refused.
type violationCounts struct {
	lock sync.Mutex
	of   map[name]int64
}

// CountViolations counts a request that each of the given attributes, which have mode Audit, would
// have refused. The attributes are in one namespace, or cluster-wide if namespace is empty. The
// counts are only kept in memory. The Controller of package status adds them to the statuses later.
func (p *Protection) CountViolations(namespace string, attributes ...string) {
	p.counts.lock.Lock()
	defer p.counts.lock.Unlock()
	for _, attribute := range attributes {
		p.counts.of[name{namespace, attribute}]++
	}
}

// Violations returns how many violations of an attribute were counted and are not yet added to the
// status of the attribute.
func (p *Protection) Violations(namespace, attribute string) int64 {
	p.counts.lock.Lock()
	defer p.counts.lock.Unlock()
	return p.counts.of[name{namespace, attribute}]
}

// SubtractViolations subtracts the n violations of an attribute that were written to its status.
func (p *Protection) SubtractViolations(namespace, attribute string, n int64) {
	p.counts.lock.Lock()
	defer p.counts.lock.Unlock()
	if left := p.counts.of[name{namespace, attribute}] - n; left > 0 {
		p.counts.of[name{namespace, attribute}] = left
		return
	}
	delete(p.counts.of, name{namespace, attribute})
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
