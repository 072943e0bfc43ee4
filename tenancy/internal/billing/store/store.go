// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite
)

// Period is a row of the table: a period in which one account pays for a tenant.
type Period struct {
	// TenantUID and Sequence identify a period. A new tenant with the same name has another UID.
	TenantUID string
	Sequence  int64
	Tenant    string
	Account   string
	Labels    map[string]string
	Start     time.Time
	// End is zero while the period is open.
	End time.Time
}

// Table stores billing periods.
type Table interface {
	// Prepare creates the table if it does not exist.
	Prepare(context.Context) error
	// Put writes a period. It is idempotent: it adds an end to a stored period without one, and
	// never changes a stored end.
	Put(context.Context, Period) error
	// Between returns the periods that overlap a time range, each once, sorted by account, tenant
	// and start.
	Between(ctx context.Context, from, to time.Time) ([]Period, error)
	// Close releases the resources of the table.
	Close() error
}

// Opener opens a table, which need not exist yet.
type Opener func(Config) (Table, error)

var openers = map[string]Opener{"sqlite": openSQL, "postgres": openSQL}

// Register adds a driver. A program must call it at its start.
func Register(driver string, open Opener) { openers[driver] = open }

// Drivers returns the names of all drivers.
func Drivers() []string { return slices.Sorted(maps.Keys(openers)) }

// SQL is a table of a SQL database.
type SQL struct {
	db     *sql.DB
	table  string
	dollar bool
}

// Config identifies a table.
type Config struct {
	// Driver is one of Drivers. Source is a file for SQLite, a connection string for PostgreSQL,
	// or a project for BigQuery.
	Driver, Source string
	// Dataset is the schema or dataset of the table, if any. Table is the name of the table.
	Dataset, Table string
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// Open opens the table, which need not exist yet.
func Open(c Config) (Table, error) {
	open, ok := openers[c.Driver]
	if !ok {
		return nil, fmt.Errorf("billing driver %q: want one of %s", c.Driver, strings.Join(Drivers(), ", "))
	}
	return open(c)
}

func openSQL(c Config) (Table, error) {
	driver := map[string]string{"sqlite": "sqlite", "postgres": "pgx"}[c.Driver]
	db, err := sql.Open(driver, c.Source)
	if err != nil {
		return nil, fmt.Errorf("billing: %w", err)
	}
	if c.Driver == "sqlite" {
		db.SetMaxOpenConns(1) // SQLite allows one writer at a time; a second one would get an error
	}
	table, err := With(db, c)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return table, nil
}

// With returns the table in an open database.
func With(db *sql.DB, c Config) (*SQL, error) {
	if c.Table == "" {
		return nil, fmt.Errorf("billing: the table has no name")
	}
	for _, name := range []string{c.Table, c.Dataset} {
		if name != "" && !identifier.MatchString(name) {
			return nil, fmt.Errorf("billing: %q is not a valid name of a table or schema", name)
		}
	}
	table := `"` + c.Table + `"`
	if c.Dataset != "" {
		table = `"` + c.Dataset + `".` + table
	}
	return &SQL{db: db, table: table, dollar: c.Driver == "postgres"}, nil
}

// Close closes the database.
func (s *SQL) Close() error { return s.db.Close() }

// Prepare creates the table if it does not exist.
func (s *SQL) Prepare(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+s.table+` (
		tenant_uid TEXT NOT NULL, sequence BIGINT NOT NULL, tenant TEXT NOT NULL, account TEXT NOT NULL, labels TEXT NOT NULL,
		start_unix BIGINT NOT NULL, end_unix BIGINT,
		PRIMARY KEY (tenant_uid, sequence))`)
	return err
}

// Put writes a period. It is idempotent: it adds an end to a stored period without one, and never
// changes a stored end.
func (s *SQL) Put(ctx context.Context, p Period) error {
	labels, err := json.Marshal(p.Labels)
	if err != nil {
		return err
	}
	var end any
	if !p.End.IsZero() {
		end = p.End.Unix()
	}
	_, err = s.db.ExecContext(ctx, s.query(`INSERT INTO `+s.table+` (tenant_uid, sequence, tenant, account, labels, start_unix, end_unix)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant_uid, sequence) DO UPDATE SET end_unix = excluded.end_unix
		WHERE `+s.table+`.end_unix IS NULL`),
		p.TenantUID, p.Sequence, p.Tenant, p.Account, string(labels), p.Start.Unix(), end)
	return err
}

// Between returns the periods that overlap a time range, sorted by account, tenant and start.
func (s *SQL) Between(ctx context.Context, from, to time.Time) (periods []Period, err error) {
	rows, err := s.db.QueryContext(ctx, s.query(`SELECT tenant_uid, sequence, tenant, account, labels, start_unix, end_unix FROM `+s.table+`
		WHERE start_unix < ? AND (end_unix IS NULL OR end_unix > ?)
		ORDER BY account, tenant, start_unix, tenant_uid, sequence`), to.Unix(), from.Unix())
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for rows.Next() {
		p, labels, start, end := Period{}, "", int64(0), sql.NullInt64{}
		if err := rows.Scan(&p.TenantUID, &p.Sequence, &p.Tenant, &p.Account, &labels, &start, &end); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(labels), &p.Labels); err != nil {
			return nil, err
		}
		p.Start = time.Unix(start, 0).UTC()
		if end.Valid {
			p.End = time.Unix(end.Int64, 0).UTC()
		}
		periods = append(periods, p)
	}
	return periods, rows.Err()
}

// query returns the text of a query with its placeholders ? in the syntax of the database: $1,
// $2 and so on for PostgreSQL.
func (s *SQL) query(text string) string {
	if !s.dollar {
		return text
	}
	parts := strings.Split(text, "?")
	b := strings.Builder{}
	for i, part := range parts {
		b.WriteString(part)
		if i < len(parts)-1 {
			b.WriteString("$" + strconv.Itoa(i+1))
		}
	}
	return b.String()
}
