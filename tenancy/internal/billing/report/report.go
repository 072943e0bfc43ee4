// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes a bill from billing periods. The bill says for how long each account pays
// for each tenant.
package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

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

// Reconcile returns a text for each difference between a bill, the lines, and the tenants in the
// cluster. A tenant differs if it has an open period and is not in the cluster, or if it is in the
// cluster and has no line. cluster maps the UIDs of the tenants in the cluster to their names.
func Reconcile(lines []Line, cluster map[string]string) []string {
	var wrong []string
	billed := map[string]bool{}
	for _, l := range lines {
		billed[l.TenantUID] = true
		if _, ok := cluster[l.TenantUID]; l.Open && !ok {
			wrong = append(wrong, fmt.Sprintf("%s (%s) is billed and not in the cluster", l.Tenant, l.TenantUID))
		}
	}
	for uid, name := range cluster {
		if !billed[uid] {
			wrong = append(wrong, fmt.Sprintf("%s (%s) is in the cluster and not billed", name, uid))
		}
	}
	return wrong
}

// Write writes the lines in a format: table, csv or chart.
func Write(w io.Writer, format string, lines []Line) error {
	hours := func(l Line) string { return strconv.FormatFloat(l.Time.Hours(), 'f', 2, 64) }
	switch format {
	case "csv":
		out := csv.NewWriter(w)
		rows := [][]string{{"account", "tenant", "tenant_uid", "hours", "open"}}
		for _, l := range lines {
			rows = append(rows, []string{cell(l.Account), cell(l.Tenant), cell(l.TenantUID), hours(l), strconv.FormatBool(l.Open)})
		}
		return out.WriteAll(rows)
	case "table":
		out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
		fmt.Fprintln(out, "ACCOUNT\tTENANT\tHOURS\tOPEN")
		for _, l := range lines {
			fmt.Fprintf(out, "%s\t%s\t%s\t%t\n", printable(l.Account), l.Tenant, hours(l), l.Open)
		}
		return out.Flush()
	case "chart":
		return chart(w, lines)
	}
	return fmt.Errorf("format %q: want table, csv or chart", format)
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
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, a := range accounts {
		bar := strings.Repeat("█", int(int64(width)*int64(sum[a]/time.Second)/max(1, int64(longest/time.Second))))
		fmt.Fprintf(out, "%s\t%s %.2f h\n", printable(a), bar, sum[a].Hours())
	}
	return out.Flush()
}

// printable returns an account as the table and the chart print it. Normal text stays as it is. An
// account that could be taken for something else is quoted, with escapes as in Go: one with a tab, a
// line break, a terminal escape or another character that is not printable, one with the spaces
// that separate columns, and one that looks quoted or like no account.
func printable(account string) string {
	if account == "" {
		return "(none)"
	}
	hidden := !utf8.ValidString(account) || strings.ContainsFunc(account, func(r rune) bool { return !strconv.IsPrint(r) })
	if hidden || account == "(none)" || account[0] == '"' || strings.TrimSpace(account) != account || strings.Contains(account, "  ") {
		return strconv.Quote(account)
	}
	return account
}

// cell returns a text as a cell of the CSV. A spreadsheet takes a text that begins with =, +, -, @, a
// tab or a line break for a formula, so such a text gets a single quote before it, as OWASP
// recommends. The hours are numbers, not texts, and get none.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
