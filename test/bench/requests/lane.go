// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kube-granular.dev/test/bench/requests/internal/process"
	"kube-granular.dev/test/bench/requests/internal/stats"
)

// stream is an endless sequence of requests of one kind.
type stream struct {
	method, path, contentType string
	// status is the expected status of the answers.
	status int
	// edit returns the body of the nth request. live is the object in the server's last answer.
	// edit may change it.
	edit func(live map[string]any, n int) any
	// encoding is the encoding of bodies and answers. Nil means JSON.
	encoding encoding

	live map[string]any
	n    int
}

// encoding encodes objects in requests, and decodes objects in answers.
type encoding interface {
	encode(object any) ([]byte, error)
	decode(answer []byte) (map[string]any, error)
}

type jsonEncoding struct{}

func (jsonEncoding) encode(object any) ([]byte, error) { return json.Marshal(object) }

func (jsonEncoding) decode(answer []byte) (out map[string]any, err error) {
	return out, json.Unmarshal(answer, &out)
}

// send sends the next request, and returns the time until its answer was read. The time does not
// include encoding and decoding.
func (s *stream) send(ctx context.Context, client *process.Client) (time.Duration, error) {
	s.n++
	if s.encoding == nil {
		s.encoding = jsonEncoding{}
	}
	body, err := s.encoding.encode(s.edit(s.live, s.n))
	if err != nil {
		return 0, err
	}
	status, answer, took, err := client.Do(ctx, s.method, s.path, s.contentType, body)
	if err != nil {
		return 0, err
	}
	if status != s.status {
		return 0, fmt.Errorf("%s %s: %d, want %d: %.600s", s.method, s.path, status, s.status, answer)
	}
	if status >= http.StatusMultipleChoices {
		return took, nil
	}
	s.live, err = s.encoding.decode(answer)
	return took, err
}

// lane is a caller that sends one kind of request to one server. It is one side of a case, that is,
// of a comparison.
type lane struct {
	Case, Side string
	server     *process.Server
	// other is another process that takes part in the requests, such as a webhook, or nil.
	other  *process.Child
	client *process.Client
	stream *stream
	// beside are streams whose requests are sent at the same time as those of stream. Each is for
	// another object.
	beside []*stream
}

// spent returns the CPU time that the processes of a lane have used so far.
func (l *lane) spent() (server, other time.Duration, err error) {
	if server, err = l.server.CPU(); err != nil || l.other == nil {
		return server, 0, err
	}
	other, err = process.CPU(l.other.PID())
	return server, other, err
}

// block sends lead requests and then the measured requests, one after the other. It returns the
// mean cost of a measured request. The lead requests are not measured, because they run with CPU
// caches that another lane has filled.
func (l *lane) block(ctx context.Context, lead, requests int) (Sample, error) {
	sample := Sample{Case: l.Case, Side: l.Side, Server: l.server.Name}
	for range lead {
		if _, err := l.stream.send(ctx, l.client); err != nil {
			return sample, fmt.Errorf("%s, %s: %w", l.Case, l.Side, err)
		}
	}
	server, other, err := l.spent()
	if err != nil {
		return sample, err
	}
	if len(l.beside) > 0 {
		return sample, l.together(ctx, requests, &sample)
	}
	begun, last := time.Now(), server
	var single []float64
	for range requests {
		took, err := l.stream.send(ctx, l.client)
		if err != nil {
			return sample, fmt.Errorf("%s, %s: %w", l.Case, l.Side, err)
		}
		sample.Latencies = append(sample.Latencies, took)
		now, err := l.server.CPU()
		if err != nil {
			return sample, err
		}
		single, last = append(single, float64(now-last)), now
	}
	wall := time.Since(begun)
	sample.Median = stats.Percentile(single, 0.5)
	serverAfter, otherAfter, err := l.spent()
	each := func(d time.Duration) float64 { return float64(d) / float64(requests) }
	sample.CPU, sample.Other, sample.Wall = each(serverAfter-server), each(otherAfter-other), each(wall)
	return sample, err
}

// together sends requests of all streams at the same time, the same number for each stream. The
// CPU time of a single request can't be measured then, so the Median of the sample is the mean.
func (l *lane) together(ctx context.Context, requests int, sample *Sample) error {
	streams := append([]*stream{l.stream}, l.beside...)
	latencies := make([][]time.Duration, len(streams))
	server, other, err := l.spent()
	if err != nil {
		return err
	}
	begun := time.Now()
	var all []func() error
	for i, s := range streams {
		all = append(all, func() error {
			for range requests {
				took, err := s.send(ctx, l.client)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", l.Case, l.Side, err)
				}
				latencies[i] = append(latencies[i], took)
			}
			return nil
		})
	}
	if err := utilerrors.AggregateGoroutines(all...); err != nil {
		return err
	}
	wall := time.Since(begun)
	serverAfter, otherAfter, err := l.spent()
	each := func(d time.Duration) float64 { return float64(d) / float64(requests*len(streams)) }
	sample.CPU, sample.Other, sample.Wall = each(serverAfter-server), each(otherAfter-other), each(wall)
	sample.Median, sample.Latencies = sample.CPU, slices.Concat(latencies...)
	return err
}

// interleave lets the sides of each case take turns, and calls record with each sample. The order
// of the sides is random in each round, because a side is influenced by the side before it. The
// first o.warm rounds are not recorded.
func interleave(ctx context.Context, cases [][]*lane, o rounds, record func(Sample)) error {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range o.warm + o.count {
		for _, sides := range cases {
			for _, i := range random.Perm(len(sides)) {
				sample, err := sides[i].block(ctx, o.lead, o.block)
				if err != nil {
					return err
				}
				if sample.Round = round - o.warm; sample.Round >= 0 {
					record(sample)
				}
			}
		}
	}
	return nil
}

// rounds holds the numbers of rounds in a run: warm rounds, which are not measured, and then count
// measured ones. It also holds the numbers of requests in a turn: first lead requests, which are
// not measured, and then block measured ones.
type rounds struct{ warm, count, lead, block int }
