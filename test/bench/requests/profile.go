// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kube-granular.dev/test/bench/requests/internal/process"
)

func newProfile(o *options) *cobra.Command {
	side, name, resource, out, duration, bindings, hertz := gateOn, "PUT Deployment", "pods", "", 20*time.Second, 1000, 0
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Record a CPU profile of a server while one operation is repeated; read the profile with go tool pprof",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return errors.New("--out is missing: the file for the profile")
			}
			o.runs = 1
			_, err := o.measure(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context, s *session, _ *Run) error {
				_, err := s.profile(ctx, side, name, resource, bindings, recording{out, duration, hertz})
				return err
			})
			return err
		},
	}
	cmd.Flags().StringVar(&side, "side", side, "which server to run: one of the sides of the command whole")
	cmd.Flags().StringVar(&name, "operation", name, "operation to send, as in the command whole; or the way in which a rule is in force while a caller with the permission changes an object, as in the commands against and attributes: plain, policy, webhook, grant, excluded, attribute, role, thousand")
	cmd.Flags().StringVar(&resource, "resource", resource, "if a rule is in force, the changed resource: pods (built-in) or notes (a custom resource)")
	cmd.Flags().IntVar(&bindings, "bindings", bindings, "if a rule is in force, the number of role bindings in the namespace")
	cmd.Flags().StringVar(&out, "out", "", "file to write the profile to")
	cmd.Flags().DurationVar(&duration, "duration", duration, "how long to record")
	cmd.Flags().IntVar(&hertz, "hertz", 0, "samples in a second, recorded by perf; read them with perf report or perf script. 0 means the server's own profiler, which takes 100")
	return cmd
}

// recording has the parameters of a CPU profile of a server.
type recording struct {
	out      string
	duration time.Duration
	// hertz is the number of samples in a second that perf takes. 0 means that the server's own
	// profiler records.
	hertz int
}

func (r recording) of(ctx context.Context, server *process.Server) error {
	if r.hertz > 0 {
		return server.Perf(ctx, r.duration, r.hertz, r.out)
	}
	profile, err := server.Profile(ctx, r.duration)
	if err != nil {
		return err
	}
	return os.WriteFile(r.out, profile, 0o644)
}

// profile records a CPU profile of a server while one operation is repeated, and returns how many
// requests were sent during the recording.
func (s *session) profile(ctx context.Context, side, name, resource string, bindings int, record recording) (requests float64, err error) {
	servers, stop, err := s.start(ctx, side)
	if err != nil {
		return 0, err
	}
	defer func() { err = joined(err, stop) }()
	server := servers[0]
	if err := prepareWhole(ctx, server); err != nil {
		return 0, err
	}
	var l *lane
	if slices.Contains([]string{byAttribute, byRole, byThousand, byWebhook}, name) {
		var end func() error
		if l, end, err = s.attributed(ctx, server, name, bindings); end != nil {
			defer func() { err = joined(err, end) }()
		}
	} else if slices.Contains([]string{byNothing, byPolicy, byGrant, byExcluded}, name) {
		a := administrator{server.Client(process.Administrator)}
		chosen, ok := subjects[resource]
		if !ok {
			return 0, fmt.Errorf("--resource: no rule is about %q", resource)
		}
		if resource != "pods" {
			err = a.sheets(ctx, side == gateOn)
		}
		if err == nil && name == byPolicy {
			err = a.enforcePolicy(ctx, chosen)
		}
		if err == nil {
			l, err = a.ruled(ctx, server, resource, name, true, bindings)
		}
	} else {
		all := operations(namespace)
		i := slices.IndexFunc(all, func(o operation) bool { return o.name == name })
		if i < 0 {
			return 0, fmt.Errorf("no operation has the name %q", name)
		}
		l, err = all[i].lane(ctx, server, caller, "profiled", 1)
	}
	if err != nil {
		return 0, err
	}
	if err := s.settle(ctx, servers); err != nil {
		return 0, err
	}
	if _, err := l.block(ctx, 0, s.rounds.warm*s.rounds.block); err != nil {
		return 0, err
	}
	sent, begun := 0, time.Now()
	recorded := make(chan struct{})
	err = utilerrors.AggregateGoroutines(func() error {
		defer close(recorded)
		return record.of(ctx, server)
	}, func() error {
		for {
			select {
			case <-recorded:
				return nil
			default:
				if _, err := l.block(ctx, 0, s.rounds.block); err != nil {
					return err
				}
				sent += s.rounds.block
			}
		}
	})
	if err != nil {
		return 0, err
	}
	// Starting and ending a recording takes a second or two, in which requests are sent too. They are
	// deducted by proportion.
	requests = float64(sent) * min(1, float64(record.duration)/float64(time.Since(begun)))
	s.say("%.0f requests were sent during the recording", requests)
	return requests, nil
}
