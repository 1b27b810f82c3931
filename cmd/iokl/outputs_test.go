package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/iokl/iokl/internal/files/atomicfile"
)

// The rows of all updates of one file that end with status 0 are in it, whatever they call it.
func TestUpdatesAtOnce(t *testing.T) {
	dir := folder(t)
	succeed(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:all:1.5 --lambda 1e-3 --learn none --out m")
	if err := os.Symlink("m", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	names := []string{"m", "link", "./m", filepath.Join(dir, "m")}
	rows := 40
	var updating sync.WaitGroup
	var mu sync.Mutex
	for k := range 8 {
		x, y := csvRows(k+1, float64(k))
		write(t, dir, fmt.Sprintf("x%d.csv", k), x)
		write(t, dir, fmt.Sprintf("y%d.csv", k), y)
		cmd := process(t, dir, fmt.Sprintf("update --model %s --x x%d.csv --y y%d.csv --out %s", names[k%4], k, k,
			names[k/2]))
		updating.Go(func() {
			out, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				rows += k + 1
			} else {
				t.Errorf("update %d: %v: %s", k, err, out)
			}
		})
	}
	updating.Wait()
	command(t, dir, "info m").out(fmt.Sprintf("samples         %d\n", rows))
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Error("left behind:", left, err)
	}
}

// A checkpoint is that of one command at a time.
func TestCheckpointInUse(t *testing.T) {
	dir := folder(t)
	for _, line := range []string{
		"fit --x x.csv --y y.csv --kernel gaussian:all:1.5 --lambda 1e-3 --checkpoint ck",
		"fit --x x.csv --y y.csv --kernel rff:gaussian:all:20:1 --lambda 1e-3 --stream --checkpoint ck",
		"granger --series x.csv --stability 2 --checkpoint ck",
	} {
		unlock, err := atomicfile.TryLock(filepath.Join(dir, "ck"))
		if err != nil {
			t.Fatal(err)
		}
		fail(t, dir, line).err("another process")
		unlock()
		succeed(t, dir, line)
		if err := os.Remove(filepath.Join(dir, "ck")); err != nil {
			t.Error(err)
		}
	}
}

// One file for two outputs, or for an output and an input, is refused before any work, whatever it is called.
func TestOutputsOfOneFile(t *testing.T) {
	dir := folder(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	const fit = "fit --x x.csv --y y.csv --kernel linear:all --lambda 1e-3 "
	succeed(t, dir, fit+"--out m")
	for _, err := range []error{
		os.Symlink("m", filepath.Join(dir, "link")), os.Link(filepath.Join(dir, "m"), filepath.Join(dir, "hard")),
		os.Symlink("../new", filepath.Join(dir, "sub", "dangling")), os.Symlink("sub", filepath.Join(dir, "folder")),
	} {
		if err != nil {
			t.Skip("no links here:", err)
		}
	}
	before := mustRead(t, "m")
	const cv = "cv --x x.csv --y y.csv --kernel linear:all --lambdas 1e-3 --folds 2 "
	for _, line := range []string{
		fit + "--out new --report new", fit + "--out new --report ./sub/../new",
		fit + "--out new --report sub/dangling",
		fit + "--out folder/dangling --report new", fit + "--out m --report hard", fit + "--out link --report m",
		fit + "--out new --report " + filepath.Join(dir, "new"), fit + "--out new --checkpoint new",
		fit + "--report new --checkpoint folder/../new", fit + "--out link --weights m",
		cv + "--out new --report new", cv + "--out new --plot new", cv + "--report new --plot folder/../new",
		"granger --series x.csv --out g.json --report g.json", "granger --series x.csv --out g.json --plot g.json",
		"granger --series x.csv --stability 2 --report g --checkpoint ./g", "granger --series x.csv --report x.csv",
		"predict --model m --x x.csv --out link", "predict --model link --x x.csv --out hard",
		"predict --model m --x x.csv --out folder/../x.csv", "update --model m --x x.csv --y y.csv --out x.csv",
		"update --model m --x x.csv --y y.csv --out hard", "export --model m --go link",
		"export --model link --onnx hard", "report m --out link",
	} {
		refuse(t, dir, line).err("same file")
	}
	if before != mustRead(t, "m") {
		t.Error("the model was written")
	}
	for _, line := range []string{
		fit + "--out sub/dangling --report " + os.DevNull, fit + "--out " + os.DevNull + " --report " + os.DevNull,
		"update --model link --x x.csv --y y.csv --out m", "update --model folder/../m --x x.csv --y y.csv --out link",
	} {
		succeed(t, dir, line)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err != nil {
		t.Error("the file that the link names was not made:", err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("a link was replaced:", err)
	}
}

// Names with characters that control terminals reach none, nor a page as tags, and tables get them as they are.
func TestControlCharacters(t *testing.T) {
	dir := t.TempDir()
	const evil = "\x1b]0;title\a\x1b[2J\u009b1m\x7f<script>alert(1)</script>\u202e"
	text := rowsText(evil+",b,word,y"+evil, 40, func(i int) string {
		return fmt.Sprintf("%d,%d,%s,%d", i*i%17, i*i%23, []string{"w" + evil, "plain", "other"}[i%3], i*i%7)
	})
	write(t, dir, "t\x1b[1m.csv", text)
	write(t, dir, "t.csv", text)
	write(t, dir, "bad.csv", strings.Replace(text, "16,", "x"+evil+",", 2))
	const set = " --kernel gaussian:all:1 --lambda 1e-2 "
	y := "y" + evil
	for _, line := range []string{
		"fit --x t.csv --y-columns " + y + set + "--out m --report m.html",
		"fit --x t.csv --y-columns " + y + set + "--verbose", "fit --x t.csv --y-columns " + y + set + "--json",
		"fit --x t\x1b[1m.csv --y-columns " + y + set + "--out \x1b[2Jm", "fit --x t.csv --y-columns none" + evil,
		"fit --x t.csv --y-columns " + y + " --kernel " + evil, "fit --" + evil, evil, "fit " + evil, "info " + evil,
		"fit --x " + evil + " --y-columns y", "cv --x t.csv --y-columns " + y + set + " --report cv.html",
		"info m", "info m --json", "predict --model m --x t.csv --y-columns " + y, "predict --model m --x t.csv --json",
		"predict --model m --x bad.csv --out p.csv", "predict --model m --x t.csv --why 2", "report m --out r.html",
		"update --model m --x t.csv --y-columns " + y + " --out m2", "fit --x bad.csv --y-columns " + y + set,
		"granger --series t.csv --drop word --report g.html --out g.json", "granger --series t.csv --drop word --json",
	} {
		r := command(t, dir, line)
		all := r.stdout + r.stderr
		if s := strings.IndexFunc(all, func(r rune) bool {
			return r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) || r == 0x202e
		}); s >= 0 {
			t.Errorf("iokl %.40q: %.200q", line, all[max(0, s-60):])
		}
	}
	command(t, dir, "info m --plot pictures")
	command(t, dir, "granger --series t.csv --drop word --plot pictures")
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	pictures, _ := filepath.Glob(filepath.Join(dir, "pictures", "*.svg"))
	if err != nil || len(pages) < 4 || len(pictures) < 2 {
		t.Error(pages, pictures, err)
	}
	for _, page := range pages {
		if text := mustRead(t, page); strings.Contains(text, "<script>alert") || strings.Contains(text, "\x1b") {
			t.Errorf("%s: a name is a tag or a control character", page)
		}
	}
	for _, picture := range pictures {
		for d := xml.NewDecoder(strings.NewReader(mustRead(t, picture))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", picture, err)
				break
			}
		}
	}
	succeed(t, dir, "predict --model m --x t.csv").begins(y + "\n") // a table that is no screen
}
