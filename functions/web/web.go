// Package web holds the dashboard's page as it was built: functions/web/dist, which make web fills.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// Files are the built files, index.html at the top. A program that was built without make web has none.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil { // it cannot be: the folder is embedded
		panic(err)
	}
	return files
}
