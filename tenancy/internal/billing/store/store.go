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

// Period is a row of the table.
type Period struct {
	// TenantUID and Sequence are the identity of a period. A tenant of the same name made
	// anew has another UID.
	TenantUID string
	Sequence  int64
	Tenant    string
	Account   string
	Labels    map[string]string
	Start     time.Time
	// End is zero while the period goes on.
	End time.Time
}

// Table is where periods are kept.
type Table interface {
	// Prepare makes the table if there is none.
	Prepare(context.Context) error
	// Put writes a period. Written again it changes nothing; an end is added once.
	Put(context.Context, Period) error
	// Between returns the periods that lie at least in part in a time, each once, by account,
	// tenant and start.
	Between(ctx context.Context, from, to time.Time) ([]Period, error)
	// Close lets go of what the table holds.
	Close() error
}

// Opener opens a table that need not be there yet.
type Opener func(Config) (Table, error)

var openers = map[string]Opener{"sqlite": openSQL, "postgres": openSQL}

// Register adds a driver. A program calls it before it starts anything.
func Register(driver string, open Opener) { openers[driver] = open }

// Drivers returns the names of the drivers there are.
func Drivers() []string { return slices.Sorted(maps.Keys(openers)) }

// SQL is a table of a database.
type SQL struct {
	db     *sql.DB
	table  string
	dollar bool
}

// Config says which table.
type Config struct {
	// Driver is one of Drivers, Source what it connects to: a file, a connection string, a
	// project.
	Driver, Source string
	// Dataset is the schema or dataset of the table, if any, and Table its name.
	Dataset, Table string
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// Open opens the table. It need not be there yet.
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
		db.SetMaxOpenConns(1) // one writer; others would be told that it is locked
	}
	table, err := With(db, c)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return table, nil
}

// With returns the table in a database that is open.
func With(db *sql.DB, c Config) (*SQL, error) {
	if c.Table == "" {
		return nil, fmt.Errorf("billing: the table has no name")
	}
	for _, name := range []string{c.Table, c.Dataset} {
		if name != "" && !identifier.MatchString(name) {
			return nil, fmt.Errorf("billing: %q is no name of a table", name)
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

// Prepare makes the table if there is none.
func (s *SQL) Prepare(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+s.table+` (
		tenant_uid TEXT NOT NULL, sequence BIGINT NOT NULL, tenant TEXT NOT NULL, account TEXT NOT NULL, labels TEXT NOT NULL,
		start_unix BIGINT NOT NULL, end_unix BIGINT,
		PRIMARY KEY (tenant_uid, sequence))`)
	return err
}

// Put writes a period. Written again it changes nothing; an end is added to a period that
// has none, and never changed.
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

// Between returns the periods that lie at least in part in a time, by account, tenant and
// start.
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

// query returns the text with the parameters as the database wants them.
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
