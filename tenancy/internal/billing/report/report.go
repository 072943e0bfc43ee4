// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes a bill from billing periods. The bill says for how long each account pays
// for each tenant.
package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/billing/store"
)

// Line has the total time for which one account pays for one tenant.
type Line struct {
	Account, Tenant, TenantUID string
	Time                       time.Duration
	// Open is true if one of the summed periods has not ended.
	Open bool
}

// Month returns the beginning (in UTC) of a month such as 2026-11, and of the month after it.
func Month(text string) (from, to time.Time, err error) {
	if from, err = time.Parse("2006-01", text); err != nil {
		return from, to, fmt.Errorf("month %q: want one such as 2026-11", text)
	}
	return from, from.AddDate(0, 1, 0), nil
}

// Lines returns for each account and tenant the total time of their periods between from and to. A
// period that has not ended counts until now. The periods must be sorted by account and tenant, as
// the method Between of store.Table returns them.
func Lines(periods []store.Period, from, to, now time.Time) []Line {
	var lines []Line
	if now.Before(to) {
		to = now
	}
	for _, p := range periods {
		start, end := p.Start, p.End
		if start.Before(from) {
			start = from
		}
		if end.IsZero() || end.After(to) {
			end = to
		}
		if !end.After(start) {
			continue
		}
		last := len(lines) - 1
		if last < 0 || lines[last].Account != p.Account || lines[last].TenantUID != p.TenantUID {
			lines = append(lines, Line{Account: p.Account, Tenant: p.Tenant, TenantUID: p.TenantUID})
			last++
		}
		lines[last].Time += end.Sub(start)
		lines[last].Open = lines[last].Open || p.End.IsZero()
	}
	return lines
}

// Write writes the lines in a format: table, wide, csv or chart.
func Write(w io.Writer, format string, lines []Line) error {
	hours := func(l Line) string { return strconv.FormatFloat(l.Time.Hours(), 'f', 2, 64) }
	switch format {
	case "csv":
		rows := [][]any{{"account", "tenant", "tenant_uid", "hours", "open"}}
		for _, l := range lines {
			rows = append(rows, []any{l.Account, l.Tenant, l.TenantUID, printing.Number(hours(l)), l.Open})
		}
		return printing.CSV(w, rows)
	case "table", "wide":
		return table(printing.NewPage(w, format == "wide"), lines, hours)
	case "chart":
		return chart(w, lines)
	}
	return fmt.Errorf("format %q: want table, wide, csv or chart", format)
}

func table(page *printing.Page, lines []Line, hours func(Line) string) error {
	rows := page.Begin("ACCOUNT", "TENANT", "HOURS", "OPEN")
	for _, l := range lines {
		err := rows.EscapedRow(account(l.Account), printing.Escaped(printing.Cell(l.Tenant)), printing.Escaped(hours(l)),
			printing.Sprintf("%t", l.Open))
		if err != nil {
			return err
		}
	}
	if err := rows.Flush(); err != nil {
		return err
	}
	return page.Close()
}

// chart writes a bar for each account.
func chart(w io.Writer, lines []Line) error {
	const width = 40
	var accounts []string
	sum := map[string]time.Duration{}
	longest := time.Duration(1)
	for _, l := range lines {
		if _, ok := sum[l.Account]; !ok {
			accounts = append(accounts, l.Account)
		}
		sum[l.Account] += l.Time
		longest = max(longest, sum[l.Account])
	}
	page := printing.NewPage(w, false)
	bars := page.Begin()
	for _, a := range accounts {
		bar := strings.Repeat("█", int(int64(width)*int64(sum[a]/time.Second)/max(1, int64(longest/time.Second))))
		if err := bars.EscapedRow(account(a), printing.Sprintf("%s %.2f h", bar, sum[a].Hours())); err != nil {
			return err
		}
	}
	if err := bars.Flush(); err != nil {
		return err
	}
	return page.Close()
}

// account returns an account as the table and the chart print it. An account that looks like no
// account is quoted.
func account(name string) printing.Escaped {
	switch name {
	case "":
		return "(none)"
	case "(none)":
		return `"(none)"`
	}
	return printing.Escaped(printing.Cell(name))
}
