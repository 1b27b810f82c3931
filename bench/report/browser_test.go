package report

import (
	"strconv"
	"testing"

	"github.com/iokl/iokl/internal/files/page/pagetest"
)

// probe measures what overflows, whether a click on a heading sorts, and whether text stands
// out from its background.
const probe = `    const luminance = color => {
      const [r, g, b] = color.match(/[\d.]+/g).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const style = view.getComputedStyle(d.body);
    say("width", d.documentElement.clientWidth);
    say("overflow", d.documentElement.scrollWidth - d.documentElement.clientWidth);
    const back = luminance(style.backgroundColor), fore = luminance(style.color);
    say("background", back);
    say("contrast", (Math.max(back, fore) + 0.05) / (Math.min(back, fore) + 0.05));
    const table = d.querySelector("table.sort"), head = table.tHead.rows[0];
    const column = [...head.cells].findIndex(c => c.textContent === "seconds");
    const values = () => [...table.tBodies[0].rows].map(r => r.cells[column].textContent).join(",");
    head.cells[column].querySelector("button").click();
    say("up", values() + " " + head.cells[column].getAttribute("aria-sort"));
    head.cells[column].querySelector("button").click();
    say("down", values() + " " + head.cells[column].getAttribute("aria-sort"));
    say("charts", d.querySelectorAll("svg.chart path").length);`

func TestReportInChromium(t *testing.T) {
	found := pagetest.Look(t, render(t, someResults()), probe, pagetest.Frame{Name: "light", Width: 360},
		pagetest.Frame{Name: "dark", Width: 360, Dark: true})
	for _, mode := range []string{"light", "dark"} {
		for key, want := range map[string]string{
			"width": "360", "overflow": "0", "errors": "none", "up": "0.00102,0.0102 ascending",
			"down": "0.0102,0.00102 descending",
		} {
			if got := found[mode+"-"+key]; got != want {
				t.Errorf("%s: %s is %q, want %q", mode, key, got, want)
			}
		}
		if n, _ := strconv.Atoi(found[mode+"-charts"]); n == 0 {
			t.Errorf("%s: no curve was drawn", mode)
		}
		if c, _ := strconv.ParseFloat(found[mode+"-contrast"], 64); !(c > 7) {
			t.Errorf("%s: the contrast of text is %g", mode, c)
		}
		if b, err := strconv.ParseFloat(found[mode+"-background"], 64); err != nil || (b > 0.5) != (mode == "light") {
			t.Errorf("%s: the background has luminance %g", mode, b)
		}
	}
}
