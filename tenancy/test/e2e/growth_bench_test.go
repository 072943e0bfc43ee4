// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

var (
	beside = flag.String("beside", "",
		"folder with bin and tenancy/config of another version, which BenchmarkGrowth measures at the same time")
	block    = flag.Int("block", 100, "tenants that BenchmarkGrowth makes at once")
	folder   = flag.String("folder", "", "folder of manifests for BenchmarkGrowth: granular is for a server that authorizes fields")
	heaps    = flag.String("heaps", "", "folder to which BenchmarkGrowth writes a heap profile of each server")
	profiles = flag.String("profiles", "",
		"folder to which BenchmarkGrowth writes CPU profiles of each server and controller, for the first seconds of each block")
)

// profiled is how long the CPU profiles of a block last. A block that ends before makes a profile that has idle time.
const profiled = 8 * time.Second

// measuredVersion is a cluster of one version of the project, with its controller.
type measuredVersion struct {
	name, address string
	// pprof is the address of the profiles of the controller.
	pprof string
	*cluster
	controller *controller
}

// BenchmarkGrowth measures how the cost of a new tenant grows with the number of tenants. With -beside, it
// makes blocks of tenants in two clusters in turn, so that both versions see the same load of the machine.
// While a block is created, the controller is stopped. The time begins when it continues.
func BenchmarkGrowth(b *testing.B) {
	here, err := root()
	if err != nil {
		b.Fatal(err)
	}
	versions := []*measuredVersion{startVersion(b, "this", here)}
	if *beside != "" {
		versions = append(versions, startVersion(b, "beside", *beside))
	}
	for first := 1; first <= *tenants; first += *block {
		for _, v := range versions {
			v.grow(b, first, min(*block, *tenants-first+1))
		}
	}
	for _, v := range versions {
		v.finish(b)
	}
}

func startVersion(b *testing.B, name, top string) *measuredVersion {
	b.Helper()
	config, features, flags := "default", "GranularAuthorization=false", []string{"--sudo", *mode}
	switch {
	case *mode == "Delegation":
		config, features, flags = "delegation", gates, append(flags, "--field-permissions")
	case *folder != "":
		config, features, flags = *folder, "GranularAuthorization=true", append(flags, "--field-permissions")
	}
	c := newClusterOf(b, top, config, "--feature-gates", features)
	v := &measuredVersion{name: name, cluster: c, address: freeAddress(b)}
	flags = append(flags, "--metrics-address", v.address, "--leader-elect=false", "--discovery-every", "1h")
	if *profiles != "" {
		v.pprof = freeAddress(b)
		flags = append(flags, "--pprof-address", v.pprof)
	}
	v.controller = c.run(b, flags...)
	// A policy that the server loads late may not have the schema of LNamespaces yet.
	deadline := time.Now().Add(patience)
	err := c.client.Create(b.Context(), seven(0))
	for apierrors.IsServiceUnavailable(err) && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
		err = c.client.Create(b.Context(), seven(0))
	}
	if err != nil {
		b.Fatal(err)
	}
	v.ready(b, 1)
	quiet(b, v.address, 1)
	return v
}

// grow makes a block of tenants, and logs what they cost.
func (v *measuredVersion) grow(b *testing.B, first, count int) {
	b.Helper()
	process, before := v.controller.process.Process, read(b, v.address)
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		b.Fatal(err)
	}
	parallel(b, count, func(i int) error { return v.client.Create(context.Background(), seven(first+i)) })
	server := cpu(b, v.process.Process.Pid)
	if err := process.Signal(syscall.SIGCONT); err != nil {
		b.Fatal(err)
	}
	profile := v.profile(first)
	own, began := cpu(b, process.Pid), time.Now()
	quiet(b, v.address, int(before.reconciled)+count)
	took := time.Since(began)
	n := read(b, v.address)
	server, own = cpu(b, v.process.Process.Pid)-server, cpu(b, process.Pid)-own
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(count) / 1000 }
	// The testing package shows only the first lines of a log.
	requests := n.since(before)
	fmt.Printf("%s %s: tenants %d to %d: %.1f a second, CPU for each: server %.1f ms, controller %.1f ms, %.1f requests for each: %s\n",
		v.name, *mode, first, first+count-1, float64(count)/took.Seconds(), each(server), each(own), requests.total()/float64(count), requests)
	if err := <-profile; err != nil {
		b.Fatal(err)
	}
	v.ready(b, first+count)
}

// profile begins to write the CPU profiles of the server and the controller for a block of tenants, if they are
// wanted. The channel gets one error, or nil, when they are written.
func (v *measuredVersion) profile(first int) <-chan error {
	done := make(chan error, 1)
	if *profiles == "" {
		done <- nil
		return done
	}
	path := fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", profiled.Seconds())
	write := func(process string, profile []byte, err error) error {
		if err != nil {
			return fmt.Errorf("profile of the %s: %w", process, err)
		}
		return os.WriteFile(filepath.Join(*profiles, fmt.Sprintf("%s-%05d-%s.pb.gz", v.name, first, process)), profile, 0o600)
	}
	server := make(chan error, 1)
	go func() {
		profile, err := v.kubectl("admin", "get", "--raw", path)
		server <- write("server", []byte(profile), err)
	}()
	go func() {
		profile, err := download("http://" + v.pprof + path)
		done <- errors.Join(write("controller", profile, err), <-server)
	}()
	return done
}

// download returns the body of the answer to a GET.
func download(address string) ([]byte, error) {
	answer, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return body, err
}

// ready waits until all tenants are ready.
func (v *measuredVersion) ready(b *testing.B, count int) {
	b.Helper()
	for deadline := time.Now().Add(patience); ; {
		list := v1alpha1.LNamespaceList{}
		if err := v.client.List(b.Context(), &list); err != nil {
			b.Fatal(err)
		}
		done := 0
		for i := range list.Items {
			if meta.IsStatusConditionPresentAndEqual(list.Items[i].Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionTrue) {
				done++
			}
		}
		if done == count {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%d of %d are ready", done, count)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// finish logs the memory of the server and of the controller.
func (v *measuredVersion) finish(b *testing.B) {
	b.Helper()
	if *heaps != "" {
		profile, err := v.kubectl("admin", "get", "--raw", "/debug/pprof/heap?gc=1")
		if err != nil {
			b.Fatalf("%v: %s", err, profile)
		}
		if err := os.WriteFile(filepath.Join(*heaps, v.name+".pb.gz"), []byte(profile), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	server, _ := resident(b, v.process.Process.Pid)
	own, _ := resident(b, v.controller.process.Process.Pid)
	fmt.Printf("%s: memory: server %d MiB, controller %d MiB\n", v.name, server, own)
	if err := v.controller.stop(); err != nil {
		b.Error(err)
	}
}

// cpu returns the CPU time of a process and of its children.
func cpu(b testing.TB, pid int) time.Duration {
	b.Helper()
	const tick = 10 * time.Millisecond // USER_HZ of Linux
	sum := time.Duration(0)
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		// After the name, which is in brackets, stand the state and the parent.
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 || path != fmt.Sprintf("/proc/%d/stat", pid) && fields[1] != strconv.Itoa(pid) {
			continue
		}
		for _, field := range fields[11:13] {
			n, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
