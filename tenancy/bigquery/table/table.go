// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"kube-granular.dev/tenancy/internal/billing/store"
)

// patience is the timeout of one call of Prepare or Put. Until the timeout, Google's client
// library retries failed requests. Then the call returns an error, and the controller calls it
// again later.
const patience = 30 * time.Second

// Table is a table of BigQuery.
type Table struct {
	client *bigquery.Client
	table  *bigquery.Table
	// name is the full name of the table in SQL queries, in backquotes.
	name string
}

var (
	project    = regexp.MustCompile(`^[a-z0-9.:-]{1,128}$`)
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

// Open returns the table that c describes. c.Source is the ID of the Google Cloud project. If the
// options set no credentials, Google's client library looks for them where it does by default.
func Open(c store.Config, options ...option.ClientOption) (*Table, error) {
	if !project.MatchString(c.Source) {
		return nil, fmt.Errorf("billing: %q is not a valid name of a project", c.Source)
	}
	for what, name := range map[string]string{"dataset": c.Dataset, "table": c.Table} {
		if !identifier.MatchString(name) {
			return nil, fmt.Errorf("billing: %q is not a valid name of a %s", name, what)
		}
	}
	client, err := bigquery.NewClient(context.Background(), c.Source, options...)
	if err != nil {
		return nil, fmt.Errorf("billing: %w", err)
	}
	return &Table{client: client, table: client.Dataset(c.Dataset).Table(c.Table), name: "`" + c.Source + "." + c.Dataset + "." + c.Table + "`"}, nil
}

// Close closes the client.
func (t *Table) Close() error { return t.client.Close() }

var schema = bigquery.Schema{
	{Name: "tenant_uid", Type: bigquery.StringFieldType, Required: true},
	{Name: "sequence", Type: bigquery.IntegerFieldType, Required: true},
	{Name: "tenant", Type: bigquery.StringFieldType, Required: true},
	{Name: "account", Type: bigquery.StringFieldType, Required: true},
	{Name: "labels", Type: bigquery.StringFieldType, Required: true},
	{Name: "start_unix", Type: bigquery.IntegerFieldType, Required: true},
	{Name: "end_unix", Type: bigquery.IntegerFieldType},
}

// Prepare creates the table if it does not exist. It does not create the dataset, which must
// already exist: whoever creates a dataset chooses where its data is stored.
func (t *Table) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := t.table.Metadata(ctx)
	if !is(err, http.StatusNotFound) {
		return err
	}
	if err := t.table.Create(ctx, &bigquery.TableMetadata{Schema: schema, Description: "Who pays for which tenant, from when to when. A row may be there more than once."}); !is(err, http.StatusConflict) {
		return err
	}
	return nil
}

// Put inserts one row for a period: a row without an end if the period is open, or a row with the
// end if the period has ended.
func (t *Table) Put(ctx context.Context, p store.Period) error {
	labels, err := json.Marshal(p.Labels)
	if err != nil {
		return err
	}
	row := &bigquery.ValuesSaver{
		Schema:   schema,
		InsertID: fmt.Sprintf("%s/%d/began", p.TenantUID, p.Sequence),
		Row:      []bigquery.Value{p.TenantUID, p.Sequence, p.Tenant, p.Account, string(labels), p.Start.Unix(), nil},
	}
	if !p.End.IsZero() {
		row.InsertID = fmt.Sprintf("%s/%d/ended", p.TenantUID, p.Sequence)
		row.Row[6] = p.End.Unix()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.table.Inserter().Put(ctx, row)
}

// Between returns the periods that overlap the time between from and to, each period once. They
// are sorted by account, tenant and start.
func (t *Table) Between(ctx context.Context, from, to time.Time) ([]store.Period, error) {
	q := t.client.Query(`SELECT tenant_uid, sequence, MIN(tenant) AS tenant, MIN(account) AS account, MIN(labels) AS labels,
		MIN(start_unix) AS start_unix, MIN(end_unix) AS end_unix
		FROM ` + t.name + ` WHERE start_unix < @until
		GROUP BY tenant_uid, sequence
		HAVING MIN(end_unix) IS NULL OR MIN(end_unix) > @since
		ORDER BY account, tenant, start_unix, tenant_uid, sequence`)
	q.Parameters = []bigquery.QueryParameter{{Name: "until", Value: to.Unix()}, {Name: "since", Value: from.Unix()}}
	rows, err := q.Read(ctx)
	if err != nil {
		return nil, err
	}
	var periods []store.Period
	for {
		row := struct {
			TenantUID string             `bigquery:"tenant_uid"`
			Sequence  int64              `bigquery:"sequence"`
			Tenant    string             `bigquery:"tenant"`
			Account   string             `bigquery:"account"`
			Labels    string             `bigquery:"labels"`
			Start     int64              `bigquery:"start_unix"`
			End       bigquery.NullInt64 `bigquery:"end_unix"`
		}{}
		err := rows.Next(&row)
		if errors.Is(err, iterator.Done) {
			return periods, nil
		}
		if err != nil {
			return nil, err
		}
		p := store.Period{TenantUID: row.TenantUID, Sequence: row.Sequence, Tenant: row.Tenant, Account: row.Account, Start: time.Unix(row.Start, 0).UTC()}
		if err := json.Unmarshal([]byte(row.Labels), &p.Labels); err != nil {
			return nil, fmt.Errorf("labels of period %d of %s: %w", p.Sequence, p.TenantUID, err)
		}
		if row.End.Valid {
			p.End = time.Unix(row.End.Int64, 0).UTC()
		}
		periods = append(periods, p)
	}
}

// is reports whether err is an error in an answer of BigQuery with the HTTP status code.
func is(err error, code int) bool {
	answer := &googleapi.Error{}
	return errors.As(err, &answer) && answer.Code == code
}
