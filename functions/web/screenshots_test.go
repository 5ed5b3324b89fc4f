package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pictured are the views of which pictures are taken for people to look at.
var pictured = map[string]string{
	"matrix":   "/matrix",
	"table":    "/matrix?as=table&sort=p50&dir=down",
	"pair":     "/pair?source=westeurope&target=eastus",
	"coverage": "/coverage",
	"probers":  "/probers",
	"events":   "/events",
}

func TestEveryViewFitsItsWindow(t *testing.T) {
	for name, view := range pictured {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 360} {
				size := map[int64]string{1280: "wide", 360: "phone"}[width]
				t.Run(strings.Join([]string{name, theme, size}, "-"), func(t *testing.T) {
					b := open(t, newQuery(t), width, 800)
					join := "?"
					if strings.Contains(view, "?") {
						join = "&"
					}
					b.visit(view + join + "theme=" + theme)
					if *screenshots != "" {
						b.picture(filepath.Join(*screenshots, filepath.Base(t.Name())+".png"))
					}
					// Only tables and charts may be wider than the window, within themselves.
					b.want("document.documentElement.scrollWidth <= innerWidth", "true")
				})
			}
		}
	}
}

// picture writes the whole page, however long it is.
func (b *tab) picture(name string) {
	b.t.Helper()
	shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(name, shot, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
