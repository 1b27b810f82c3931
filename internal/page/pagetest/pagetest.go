// Package pagetest looks at pages in headless Chromium.
package pagetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Watch is for the head of a page in a frame: it reports every error of the page to the one around it.
const Watch = `<script>{
const fail = m => parent.document.body.dataset.failed = m;
window.onerror = fail;
console.error = fail;
addEventListener("securitypolicyviolation", e => fail(e.violatedDirective));
}</script>`

// skip gives the test up on a developer's machine, and fails where it has to run.
func skip(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Browse returns the page's document in headless Chromium after its scripts have run.
func Browse(t *testing.T, page string) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		skip(t, "chromium is not installed; Debian: apt-get install chromium")
	}
	file := filepath.Join(t.TempDir(), "probe.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--virtual-time-budget=5000",
		"--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+file)
	dom, err := cmd.Output()
	if err != nil {
		skip(t, "chromium does not run here: %v", err)
	}
	return string(dom)
}
