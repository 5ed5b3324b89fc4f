// Command pack assembles the Functions app: a folder as the host and its tools want it, and a zip
// of it for deployment. The same sources give the same bytes.
//
//	go run ./infra/pack -out dist
//
// makes dist/app/{host.json,handler,<Name>/function.json} and dist/app.zip.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns 0 when the app was assembled, 1 when it could not be, and 2 when the arguments
// were wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pack", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "the repository's root")
	out := flags.String("out", "dist", "the folder to write app/ and app.zip into")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		if err == nil {
			_, _ = fmt.Fprintf(stderr, "pack: argument %q: it takes flags alone\n", flags.Arg(0))
		}
		return 2
	}
	if err := pack(ctx, *root, *out, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "pack: %v\n", err)
		return 1
	}
	return 0
}
