// Package web holds the dashboard's page as it was built: functions/web/dist, which make web fills.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// Policy is the Content-Security-Policy that the page is made for, and tested under: everything from its
// own origin, no inline script, no inline style, nothing evaluated.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Files are the built files, index.html at the top. A program that was built without make web has none.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil { // it cannot be: the folder is embedded
		panic(err)
	}
	return files
}
