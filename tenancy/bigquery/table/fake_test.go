// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite"
)

// service is a fake of BigQuery's REST API, as far as that is documented. It stores inserted rows
// in SQLite, which also runs the queries, because their SQL is valid in both databases.
//
// Unlike BigQuery, it never drops a row with a known insert ID: BigQuery does so without a
// guarantee.
type service struct {
	*httptest.Server
	db *sql.DB

	mu sync.Mutex
	// faults are the faults of the next insertions, one for each insertion.
	faults []fault
	// ids are the received insert IDs. made is how often the table was created.
	ids  []string
	made int
}

// fault is how an insertion fails.
type fault struct {
	// code and reason are the error in the answer. If stored is true, the rows are stored despite
	// the error.
	code   int
	reason string
	stored bool
}

const tablePath = "/projects/acme/datasets/bills/tables"

func newService(t *testing.T) *service {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "rows.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	s := &service{db: db}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		answer, code, reason := s.serve(r)
		w.Header().Set("Content-Type", "application/json")
		if code != http.StatusOK {
			w.WriteHeader(code)
			answer = map[string]any{"error": map[string]any{"code": code, "message": reason, "errors": []any{map[string]any{"reason": reason, "message": reason}}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(func() {
		s.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *service) serve(r *http.Request) (answer any, code int, reason string) {
	body := struct {
		Rows []struct {
			InsertID string
			JSON     map[string]any
		}
		Schema struct {
			Fields []struct{ Name, Type, Mode string }
		}
		Query           string
		UseLegacySQL    *bool
		QueryParameters []struct {
			Name           string
			ParameterValue struct{ Value string }
		}
	}{}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, http.StatusBadRequest, err.Error()
		}
	}
	switch r.Method + " " + r.URL.Path {
	case "GET " + tablePath + "/periods":
		if s.made == 0 {
			return nil, http.StatusNotFound, "notFound"
		}
		return map[string]any{"tableReference": map[string]any{"projectId": "acme", "datasetId": "bills", "tableId": "periods"}}, http.StatusOK, ""
	case "POST " + tablePath:
		if s.made++; s.made > 1 {
			return nil, http.StatusConflict, "duplicate"
		}
		var columns []string
		for _, f := range body.Schema.Fields {
			columns = append(columns, f.Name+" "+map[string]string{"STRING": "TEXT", "INTEGER": "INTEGER"}[f.Type]+map[string]string{"REQUIRED": " NOT NULL"}[f.Mode])
		}
		if _, err := s.db.Exec("CREATE TABLE `acme.bills.periods` (" + strings.Join(columns, ", ") + ")"); err != nil {
			return nil, http.StatusBadRequest, err.Error()
		}
		return map[string]any{}, http.StatusOK, ""
	case "POST " + tablePath + "/periods/insertAll":
		f := fault{code: http.StatusOK, stored: true}
		if len(s.faults) > 0 {
			f, s.faults = s.faults[0], s.faults[1:]
		}
		var wrong []any
		for i, row := range body.Rows {
			s.ids = append(s.ids, row.InsertID)
			if f.reason == "invalid" {
				wrong = append(wrong, map[string]any{"index": i, "errors": []any{map[string]any{"reason": "invalid", "message": "no such field"}}})
				continue
			}
			if !f.stored {
				continue
			}
			var columns, marks []string
			var values []any
			for column, value := range row.JSON {
				columns, marks, values = append(columns, column), append(marks, "?"), append(values, value)
			}
			if _, err := s.db.Exec("INSERT INTO `acme.bills.periods` ("+strings.Join(columns, ",")+") VALUES ("+strings.Join(marks, ",")+")", values...); err != nil {
				return nil, http.StatusBadRequest, err.Error()
			}
		}
		return map[string]any{"insertErrors": wrong}, f.code, f.reason
	case "POST /projects/acme/queries":
		if body.UseLegacySQL == nil || *body.UseLegacySQL {
			return nil, http.StatusBadRequest, "this is standard SQL"
		}
		var arguments []any
		for _, p := range body.QueryParameters {
			arguments = append(arguments, sql.Named(p.Name, p.ParameterValue.Value))
		}
		return s.query(body.Query, arguments)
	}
	return nil, http.StatusNotImplemented, r.Method + " " + r.URL.Path
}

// query returns an answer like that of BigQuery's method jobs.query: a schema, and rows with all
// values as strings.
func (s *service) query(text string, arguments []any) (answer any, code int, reason string) {
	// The parameters are numbers in the query, but strings in the request.
	for _, name := range []string{"@until", "@since"} {
		text = strings.ReplaceAll(text, name, "CAST("+name+" AS INTEGER)")
	}
	found, err := s.db.Query(text, arguments...)
	if err != nil {
		return nil, http.StatusBadRequest, err.Error()
	}
	defer found.Close()
	fields, rows := []any{}, []any{}
	columns, err := found.Columns()
	if err != nil {
		return nil, http.StatusBadRequest, err.Error()
	}
	for _, column := range columns {
		kind := "STRING"
		if column == "sequence" || strings.HasSuffix(column, "_unix") {
			kind = "INTEGER"
		}
		fields = append(fields, map[string]any{"name": column, "type": kind, "mode": "NULLABLE"})
	}
	for found.Next() {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := found.Scan(to...); err != nil {
			return nil, http.StatusBadRequest, err.Error()
		}
		cells := []any{}
		for _, value := range values {
			if value != nil {
				value = fmt.Sprint(value)
			}
			cells = append(cells, map[string]any{"v": value})
		}
		rows = append(rows, map[string]any{"f": cells})
	}
	if err := found.Err(); err != nil {
		return nil, http.StatusBadRequest, err.Error()
	}
	return map[string]any{
		"kind": "bigquery#queryResponse", "jobComplete": true, "totalRows": fmt.Sprint(len(rows)), "rows": rows,
		"schema": map[string]any{"fields": fields}, "jobReference": map[string]any{"projectId": "acme", "jobId": "j", "location": "EU"},
	}, http.StatusOK, ""
}
