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

// stream is an endless row of requests of one kind.
type stream struct {
	method, path, contentType string
	// status is the answer that is expected.
	status int
	// edit makes the body of the nth request. It may change live, the server's last answer.
	edit func(live map[string]any, n int) any
	// encoding is that of bodies and answers, JSON if it is nil.
	encoding encoding

	live map[string]any
	n    int
}

// encoding is how objects go over the wire.
type encoding interface {
	encode(object any) ([]byte, error)
	decode(answer []byte) (map[string]any, error)
}

type jsonEncoding struct{}

func (jsonEncoding) encode(object any) ([]byte, error) { return json.Marshal(object) }

func (jsonEncoding) decode(answer []byte) (out map[string]any, err error) {
	return out, json.Unmarshal(answer, &out)
}

// send sends the next request and says how long its answer took. Encoding and decoding
// are not in that.
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

// lane is a caller who sends one kind of request to one server: a side of a case.
type lane struct {
	Case, Side string
	server     *process.Server
	// other is a process that takes part in the answer, or nil.
	other  *process.Child
	client *process.Client
	stream *stream
	// beside are sent at the same time as stream, each to an object of its own.
	beside []*stream
}

// spent is what a lane's processes have used of processors' time.
func (l *lane) spent() (server, other time.Duration, err error) {
	if server, err = l.server.CPU(); err != nil || l.other == nil {
		return server, 0, err
	}
	other, err = process.CPU(l.other.PID())
	return server, other, err
}

// block sends some requests one after the other. Its figures are for one request.
// The requests that lead into it are not in it: they find caches filled by whatever ran
// before.
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

// together sends all streams at the same time. What one request alone spends of
// processors' time can't be told then.
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

// interleave lets the sides of each case take turns, round after round, in random order:
// who follows whom makes a difference. The warm rounds before are not measured.
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

// rounds says how much to measure.
type rounds struct{ warm, count, lead, block int }
