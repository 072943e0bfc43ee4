// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/billing/report"
	"kube-granular.dev/tenancy/internal/billing/store"
)

func TestReport(t *testing.T) {
	from, to, err := report.Month("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	at := func(hours int) time.Time { return from.Add(time.Duration(hours) * time.Hour) }
	periods := []store.Period{
		{TenantUID: "u1", Tenant: "team", Account: "a", Start: at(-10), End: at(10)},
		{TenantUID: "u1", Tenant: "team", Account: "a", Start: at(20), End: at(30)},
		{TenantUID: "u2", Tenant: "web", Account: "a", Start: at(90)},
		{TenantUID: "u3", Tenant: "old", Account: "b", Start: at(-9), End: at(-1)},
		{TenantUID: "u4", Tenant: "new", Account: "b", Start: at(95)},
		{TenantUID: "u5", Tenant: "next", Account: "b", Start: at(200)},
	}
	lines := report.Lines(periods, from, to, at(100))
	for format, want := range map[string]string{
		"csv":   "account,tenant,tenant_uid,hours,open\na,team,u1,20.00,false\na,web,u2,10.00,true\nb,new,u4,5.00,true\n",
		"table": "ACCOUNT   TENANT   HOURS   OPEN\na         team     20.00   false\na         web      10.00   true\nb         new      5.00    true\n",
		"chart": "a     " + strings.Repeat("█", 40) + " 30.00 h\nb     " + strings.Repeat("█", 6) + " 5.00 h\n",
	} {
		b := strings.Builder{}
		if err := report.Write(&b, format, lines); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s", format, err, b.String())
		}
	}
	if err := report.Write(&strings.Builder{}, "pie", lines); err == nil {
		t.Error("pie: no error")
	}
	if _, _, err := report.Month("November"); err == nil {
		t.Error("November: no error")
	}
}

// TestTableFits checks that the table and the chart are not wider than a table may be, and that their
// last line names -o wide, which shortens nothing.
func TestTableFits(t *testing.T) {
	long := strings.Repeat("long-", 60)
	for format, last := range map[string]string{
		"table": "Texts with … are shortened; -o wide shows them whole.", "chart": "Texts with … are shortened; -o wide shows them whole.", "wide": long + "   1.00    false",
	} {
		b := strings.Builder{}
		if err := report.Write(&b, format, []report.Line{{Account: long, Tenant: long, TenantUID: "u", Time: time.Hour}}); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if n := utf8.RuneCountInString(line); format != "wide" && n > printing.MaxWidth {
				t.Errorf("%s: %d characters in %q", format, n, line)
			}
		}
		if !strings.HasSuffix(b.String(), last+"\n") {
			t.Errorf("%s ends otherwise:\n%s", format, b.String())
		}
	}
}

// TestAccountsOfOneLine checks that an account adds no line, column or terminal escape to a bill,
// and no formula to a spreadsheet. Normal accounts stay as they are.
func TestAccountsOfOneLine(t *testing.T) {
	for account, want := range map[string]struct{ text, cell string }{
		"":                        {"(none)", ""},
		"4711":                    {"4711", "4711"},
		"Physik & Ökonomie/日本 #1": {"Physik & Ökonomie/日本 #1", "Physik & Ökonomie/日本 #1"},
		`back\slash "quoted"`:     {`back\slash "quoted"`, `back\slash "quoted"`},
		"(none)":                  {`"(none)"`, "(none)"},
		`"a\tb"`:                  {`"\"a\\tb\""`, `"a\tb"`},
		"a\tb":                    {`"a\tb"`, `a\tb`},
		"a\nb   team   9.00":      {`"a\nb   team   9.00"`, `a\nb   team   9.00`},
		"a   team   9.00   false": {`"a   team   9.00   false"`, "a   team   9.00   false"},
		"\x1b[2Ja":                {`"\x1b[2Ja"`, `\x1b[2Ja`},
		"a\u009b1mb":              {`"a\u009b1mb"`, `a\u009b1mb`},
		"a\u202eb\u2028":          {`"a\u202eb\u2028"`, `a\u202eb\u2028`},
		"a\x00":                   {`"a\x00"`, `a\x00`},
		"a\xff":                   {`"a\xff"`, `a\xff`},
		" ":                       {`" "`, " "},
		"=1+1":                    {"=1+1", "'=1+1"},
		"+1":                      {"+1", "'+1"},
		"-1":                      {"-1", "'-1"},
		"@SUM(A1)":                {"@SUM(A1)", "'@SUM(A1)"},
		"\t=1":                    {`"\t=1"`, `\t=1`},
		"\r=1":                    {`"\r=1"`, `\r=1`},
		"\n=1":                    {`"\n=1"`, `\n=1`},
		"a=1":                     {"a=1", "a=1"},
	} {
		lines := []report.Line{{Account: account, Tenant: "team", TenantUID: "u", Time: time.Hour}}
		for _, format := range []string{"table", "chart"} {
			b := strings.Builder{}
			if err := report.Write(&b, format, lines); err != nil {
				t.Fatal(err)
			}
			rows := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			last := rows[len(rows)-1]
			if len(rows) != map[string]int{"table": 2, "chart": 1}[format] || !strings.HasPrefix(last, want.text+"  ") {
				t.Errorf("%s of %q: %q", format, account, rows)
			}
		}
		b := strings.Builder{}
		if err := report.Write(&b, "csv", lines); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][0] != want.cell || strings.Join(rows[1][1:], ",") != "team,u,1.00,false" {
			t.Errorf("csv of %q: %q, %v", account, rows, err)
		}
	}
}
