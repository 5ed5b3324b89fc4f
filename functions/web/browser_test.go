package web_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"isochrone/functions/web"
)

// screenshots is a folder for pictures of the page; go test ./functions/web -run Screenshots -args -screenshots DIR.
var screenshots = flag.String("screenshots", "", "write pictures of the page into this folder")

// chromium is the context of the one browser that all tests share, each with a profile of its own in it.
var chromium context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(inBrowser(m))
}

func inBrowser(m *testing.M) int {
	if _, err := fs.Stat(web.Files(), "index.html"); err != nil {
		fmt.Fprintln(os.Stderr, "the page is not built: run make web")
		return 1
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, "the tests drive Chromium, and it is not installed: run make chromium")
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.NoSandbox, // the tests run as root
		chromedp.WindowSize(1280, 900),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), // nothing leaves this machine
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("lang", "en-US"),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	browser, quit := chromedp.NewContext(allocator)
	defer quit()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintf(os.Stderr, "starting Chromium: %v\n", err)
		return 1
	}
	chromium = browser
	return m.Run()
}

// tab is a window of the browser, and what went on in it.
type tab struct {
	t   *testing.T
	ctx context.Context
	q   *query

	mu      sync.Mutex
	faults  []string // of the page: exceptions, messages on the console, requests elsewhere
	allowed []string // parts of messages that the test provokes
}

// open opens a window of the size, with nothing kept from other tests. It fails the test when the page
// throws, writes an error on the console, or asks anyone but the fake server for anything.
func open(t *testing.T, q *query, width, height int64) *tab {
	t.Helper()
	ctx, done := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(done)
	if err := chromedp.Do(ctx); err != nil { // its context must outlive the window
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx, q: q}
	if err := chromedp.Listen(ctx, b.watch); err != nil {
		t.Fatal(err)
	}
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height))
	t.Cleanup(b.check)
	return b
}

func (b *tab) watch(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" && "http://"+u.Host != b.q.URL {
			b.fault("a request to %s", e.Request.URL)
		}
		if err == nil && strings.Contains(u.RawQuery, theKey) {
			b.fault("the key is in the address %s", e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.fault("exception: %v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.fault("console: %s", e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.fault("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	}
}

func (b *tab) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// allow lets messages pass that have this in them.
func (b *tab) allow(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, part)
}

func (b *tab) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
next:
	for _, f := range b.faults {
		for _, part := range b.allowed {
			if strings.Contains(f, part) {
				continue next
			}
		}
		b.t.Error(f)
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("in the browser: %v\n%s", err, b.state())
	}
}

// state is what the page shows, for a failure.
func (b *tab) state() string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body?.innerText.slice(0, 2000) ?? ""`))
	if err != nil {
		return err.Error()
	}
	return text
}

// visit opens the page at a view, with the key as a link carries it.
func (b *tab) visit(view string) {
	b.t.Helper()
	join := "?"
	if strings.Contains(view, "?") {
		join = "&"
	}
	// From elsewhere: another part after the # alone would load nothing anew.
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(b.q.URL+"/api/dashboard#"+view+join+"code="+theKey))
	b.settled()
}

// settled waits until nothing is on its way any more, and what is there was drawn: grids and charts are, as soon as
// they know their size, which they are told between one frame and the next.
func (b *tab) settled() {
	b.t.Helper()
	b.until(`document.querySelector("main").children.length > 0 && !document.querySelector("[aria-busy]")`)
	b.text(`(window.framesDrawn = 0, requestAnimationFrame(() => requestAnimationFrame(() => { window.framesDrawn = 2 })))`)
	b.until("window.framesDrawn === 2")
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		yes, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err != nil {
			b.t.Fatalf("%s: %v", expression, err)
		}
		if yes {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("never true: %s\n%s", expression, b.state())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// text is the value of an expression, as text.
func (b *tab) text(expression string) string {
	b.t.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", expression, err, b.state())
	}
	return s
}

// want holds an expression's value to a text.
func (b *tab) want(expression, want string) {
	b.t.Helper()
	if got := b.text(expression); got != want {
		b.t.Errorf("%s is %q, want %q", expression, got, want)
	}
}

// click clicks the element, and waits for what comes of it.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
	b.settled()
}

// press presses keys, one after the other.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
	b.settled()
}

// choose picks from a list as a person does.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	b.text(fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event("change", { bubbles: true })); return s.value })()`, selector, value))
	b.settled()
}
