// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/option"

	"kube-granular.dev/tenancy/bigquery/table"
	"kube-granular.dev/tenancy/internal/billing/store"
	"kube-granular.dev/tenancy/internal/billing/store/storetest"
	"kube-granular.dev/tenancy/internal/command"
)

var (
	noon   = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	config = store.Config{Driver: "bigquery", Source: "acme", Dataset: "bills", Table: "periods"}
)

func open(t *testing.T, s *service) *table.Table {
	t.Helper()
	b, err := table.Open(config, option.WithEndpoint(s.URL), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBigQuery runs the conformance test of tables against a service that never drops a row with a
// known insert ID.
func TestBigQuery(t *testing.T) {
	s := newService(t)
	storetest.Exercise(t, open(t, s))
	if s.made != 1 {
		t.Errorf("the table was made %d times", s.made)
	}
	if want := []string{"u1/1/began", "u1/1/began", "u1/1/ended", "u1/1/began", "u1/1/ended", "u1/2/began",
		"u2/1/began"}; !slices.Equal(s.ids, want) {
		t.Errorf("insert ids: %q", s.ids)
	}
	rows := 0
	if err := s.db.QueryRow("SELECT COUNT(*) FROM `acme.bills.periods`").Scan(&rows); err != nil || rows != len(s.ids) {
		t.Errorf("%d rows: %v", rows, err)
	}
}

// TestBigQueryRetries checks that an insertion with a temporary error is retried with the same
// insert ID, and that its row counts once, whether the first attempt stored it or not. A permanent
// error is returned.
func TestBigQueryRetries(t *testing.T) {
	for name, tc := range map[string]struct {
		faults  []fault
		refused string
	}{
		"the backend":                       {faults: []fault{{code: http.StatusServiceUnavailable, reason: "backendError"}}},
		"the backend, which had stored it":  {faults: []fault{{code: http.StatusServiceUnavailable, reason: "backendError", stored: true}}},
		"too many, which were stored, then": {faults: []fault{{code: http.StatusForbidden, reason: "rateLimitExceeded", stored: true}, {code: http.StatusBadGateway, reason: "backendError", stored: true}}},
		"no right": {faults: []fault{{code: http.StatusForbidden, reason: "accessDenied"}},
			refused: "accessDenied"},
		"a row that does not fit": {faults: []fault{{code: http.StatusOK, reason: "invalid"}},
			refused: "no such field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			b := open(t, s)
			if err := b.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.faults = tc.faults
			p := store.Period{TenantUID: "u", Sequence: 1, Tenant: "team", Account: "a", Start: noon,
				End: noon.Add(time.Hour)}
			err := b.Put(t.Context(), p)
			if (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Fatalf("%v", err)
			}
			if tc.refused == "" && len(s.ids) != len(tc.faults)+1 || len(slices.Compact(slices.Clone(s.ids))) != 1 {
				t.Errorf("insert ids: %q", s.ids)
			}
			if err != nil { // the next attempt of the controller
				if err := b.Put(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			got, err := b.Between(t.Context(), noon, noon.Add(time.Minute))
			if err != nil || len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(p) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestBigQueryNames checks that Open refuses names of projects, datasets and tables that could
// change the query in whose text they stand.
func TestBigQueryNames(t *testing.T) {
	for _, c := range []store.Config{
		{}, {Source: "acme", Dataset: "bills"}, {Source: "acme", Table: "periods"},
		{Source: "acme`", Dataset: "bills", Table: "periods"}, {Source: "acme", Dataset: "b.c", Table: "periods"},
		{Source: "acme", Dataset: "bills", Table: "periods` WHERE true; --"},
	} {
		if b, err := table.Open(c, option.WithoutAuthentication()); err == nil {
			t.Errorf("%+v: no error", c)
			_ = b.Close()
		}
	}
}

// TestBigQueryReport checks that the command billing report works with a table of BigQuery.
func TestBigQueryReport(t *testing.T) {
	s := newService(t)
	b := open(t, s)
	if err := b.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := b.Put(t.Context(), store.Period{TenantUID: "u", Sequence: 1, Tenant: "team", Account: "4711", Start: noon, End: noon.Add(24 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	store.Register("bigquery", func(c store.Config) (store.Table, error) {
		return table.Open(c, option.WithEndpoint(s.URL), option.WithoutAuthentication())
	})
	out := bytes.Buffer{}
	cmd := command.New()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"billing", "report", "--billing-driver", "bigquery", "--billing-source", "acme", "--billing-dataset", "bills", "--billing-table", "periods", "--month", "2026-11", "-o", "csv"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "4711,team,") {
		t.Errorf("%s", out.String())
	}
}
