// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"

	"kube-granular.dev/tenancy/internal/billing/store"
	"kube-granular.dev/tenancy/internal/billing/store/storetest"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func TestSQLite(t *testing.T) {
	table, err := store.Open(store.Config{Driver: "sqlite", Source: filepath.Join(t.TempDir(), "bill.db"), Table: "periods"})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Exercise(t, table)
}

// TestPostgreSQL runs the conformance test against a PostgreSQL server that it starts, and that
// listens on a Unix socket.
func TestPostgreSQL(t *testing.T) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed (apt-get install postgresql): its table was not tried")
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	init := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "bill", "--auth", "trust", "--no-sync", "--no-locale", "--encoding", "UTF8")
	init.SysProcAttr, init.Dir = attr, dir
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-F")
	server.SysProcAttr, server.Dir = attr, dir
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGINT)
		server.Wait()
	})
	deadline := time.Now().Add(time.Minute)
	for {
		c, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.5432"))
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	table, err := store.Open(store.Config{Driver: "postgres", Source: "host=" + dir + " user=bill dbname=postgres", Dataset: "public", Table: "periods"})
	if err != nil {
		t.Fatal(err)
	}
	for err = table.Prepare(t.Context()); err != nil; err = table.Prepare(t.Context()) { // fails until the server has started
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	// PostgreSQL stores no NUL in a text. An account with one must not stay unbilled.
	past := store.Period{TenantUID: "u0", Sequence: 1, Tenant: "old", Account: "a\x00b", Start: noon.AddDate(-1, 0, 0), End: noon.AddDate(-1, 0, 1)}
	if err := table.Put(t.Context(), past); err != nil {
		t.Error(err)
	}
	if got, err := table.Between(t.Context(), past.Start, past.End); err != nil || len(got) != 1 || got[0].Account != "a\uFFFDb" {
		t.Errorf("an account with NUL: %+v, %v", got, err)
	}
	storetest.Exercise(t, table)
}

// TestMock checks the statements that are sent to the database, and that errors are returned.
func TestMock(t *testing.T) {
	db, mock, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	table, err := store.With(db, store.Config{Driver: "postgres", Dataset: "bills", Table: "periods"})
	if err != nil {
		t.Fatal(err)
	}
	p := store.Period{TenantUID: "u", Sequence: 3, Tenant: "team", Account: "a", Start: noon, End: noon.Add(time.Hour)}
	mock.ExpectExec(`INSERT INTO "bills"."periods" .* VALUES \(\$1, \$2, \$3, \$4, \$5, \$6, \$7\)`).
		WithArgs("u", int64(3), "team", "a", "null", noon.Unix(), noon.Unix()+3600).WillReturnResult(sqlmock.NewResult(0, 1))
	mock.ExpectExec("INSERT").WillReturnError(errors.New("away"))
	if err := table.Put(t.Context(), p); err != nil {
		t.Error(err)
	}
	if err := table.Put(t.Context(), p); err == nil {
		t.Error("no error")
	}
	if err := mock.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []store.Config{
		{Driver: "oracle", Table: "t"}, {Driver: "sqlite"}, {Driver: "sqlite", Table: `t"; DROP TABLE x`}, {Driver: "postgres", Dataset: "a.b", Table: "t"},
	} {
		if s, err := store.Open(c); err == nil {
			s.Close()
			t.Errorf("%+v: no error", c)
		}
	}
}
