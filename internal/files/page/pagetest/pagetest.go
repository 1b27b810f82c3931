// Package pagetest checks how pages are laid out, in headless Chromium.
package pagetest

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// watch is for the head of a page in a frame: it reports every error of the page to the one around it.
const watch = `<script>{
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

// Frame is a view of a page.
type Frame struct {
	Name  string
	Width int // pixels
	Dark  bool
}

// Look shows a page in frames and runs a script in each once it is loaded: d is the document in the frame,
// view its window, and say(key, value) notes a value, which Look returns as NAME-key. It adds the key errors: the
// last error of the page, or none.
func Look(t *testing.T, page, script string, frames ...Frame) map[string]string {
	t.Helper()
	page = html.EscapeString(strings.Replace(page, "<head>", "<head>"+watch, 1))
	var b strings.Builder
	// The script comes before the frames: one that loads before its listener is there would never be looked at.
	fmt.Fprintf(&b, `<!DOCTYPE html><body><script>
const out = [];
let waiting = %d;
const look = frame => {
  const d = frame.contentDocument, view = frame.contentWindow;
  const say = (key, value) => out.push(frame.id + "-" + key + "=" + value);
%s
  say("errors", document.body.dataset.failed || "none");
  if (--waiting === 0) {
    const pre = document.createElement("pre");
    pre.textContent = out.join("\n");
    document.body.append(pre);
  }
};
</script>
`, len(frames), script)
	for _, f := range frames {
		scheme := map[bool]string{false: "light", true: "dark"}[f.Dark]
		fmt.Fprintf(&b, "<iframe id=%q style=\"width:%dpx;height:700px;border:0;color-scheme:%s\" "+
			"onload=\"look(this)\" srcdoc=\"%s\"></iframe>\n", f.Name, f.Width, scheme, page)
	}
	b.WriteString("</body>")
	dom := browse(t, b.String())
	said := regexp.MustCompile(`(?s)<pre>(.*)</pre>`).FindStringSubmatch(dom)
	if said == nil {
		t.Fatalf("the page did not load:\n%.2000s", dom[max(0, len(dom)-2000):])
	}
	found := map[string]string{}
	for line := range strings.Lines(html.UnescapeString(said[1])) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[key] = value
	}
	return found
}

// browse returns the page's document in headless Chromium after its scripts have run.
func browse(t *testing.T, page string) string {
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
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--virtual-time-budget=5000",
		"--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+file)
	dom, err := cmd.Output()
	if err != nil {
		skip(t, "chromium does not run here: %v", err)
	}
	return string(dom)
}
