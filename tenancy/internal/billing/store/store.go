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
	// Put writes a period. If the period is already stored without an end, Put only adds the end.
	// Put never changes a stored end. So to write a period again has no effect.
	Put(context.Context, Period) error
	// Between returns the periods that overlap the time between from and to, each period once.
	// They are sorted by account, tenant and start.
	Between(ctx context.Context, from, to time.Time) ([]Period, error)
	// Close releases the resources of the table.
	Close() error
}

// Opener opens a table, which need not exist yet.
type Opener func(Config) (Table, error)

var openers = map[string]Opener{"sqlite": openSQL, "postgres": openSQL}

// Register adds a database driver under a name for Config.Driver. A program must call Register
// when it starts, before it uses the other functions of this package.
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
	// Driver is one of the names that the function Drivers returns. Source says what the driver
	// connects to: a file for SQLite, a connection string for PostgreSQL, a project for BigQuery.
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

// With returns the table that c describes in the database db, which is already open.
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

// Put writes the period p. If the period is already stored without an end, Put only adds the end
// of p. Put never changes a stored end. So to write a period again has no effect.
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
		p.TenantUID, p.Sequence, p.Tenant, Storable(p.Account), string(labels), p.Start.Unix(), end)
	return err
}

// Between returns the periods that overlap the time between from and to, sorted by account, tenant
// and start.
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

// query returns the text of a query for the database of s. If the database is PostgreSQL, query
// replaces the placeholders ? by $1, $2 and so on.
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
