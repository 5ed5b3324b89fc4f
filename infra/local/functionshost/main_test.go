package functionshost

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
	"isochrone/prober/wire/account"
)

// The test binary runs itself: as the app's handler, as what a handler starts, and as a host that
// is going to be killed.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_ROLE") {
	case "handler":
		os.Exit(handlerMain())
	case "child":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute)
		os.Exit(0)
	case "host":
		os.Exit(hostMain())
	}
	azuritetest.Main(m)
}

// seen is a request as the handler got it.
type seen struct {
	Method, Path, Query, Host string
	Header                    http.Header
	TransferEncoding          []string
	ContentLength             int64
	Body                      string
}

// handlerMain is a handler that does as its settings and the function's name say. What it was
// asked it tells at /-/seen, its environment at /-/env.
func handlerMain() int {
	if code := os.Getenv("TEST_EXIT_AT_START"); code != "" {
		fmt.Fprintln(os.Stderr, "dying of", code)
		n, _ := strconv.Atoi(code)
		return n
	}
	if os.Getenv("TEST_IGNORE_SIGTERM") != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	if os.Getenv("TEST_START_CHILD") != "" {
		exe, _ := os.Executable()
		child := exec.Command(exe)
		child.Env = []string{"TEST_ROLE=child"}
		child.Stdout = os.Stdout // the child holds the handler's pipe open
		if err := child.Start(); err != nil {
			return 1
		}
		fmt.Println("child", child.Process.Pid)
	}
	if d, err := time.ParseDuration(os.Getenv("TEST_LISTEN_AFTER")); err == nil {
		time.Sleep(d)
	}
	var mu sync.Mutex
	var all []seen
	mux := http.NewServeMux()
	mux.HandleFunc("/-/seen", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(all)
	})
	mux.HandleFunc("/-/env", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(os.Environ()) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/" {
			if os.Getenv("TEST_STALL") != "" {
				time.Sleep(time.Hour)
			}
			w.WriteHeader(http.StatusTeapot) // any status counts
			return
		}
		if path.Base(r.URL.Path) == "echo" {
			echo(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, seen{r.Method, r.URL.Path, r.URL.RawQuery, r.Host, r.Header, r.TransferEncoding, r.ContentLength, string(body)})
		mu.Unlock()
		behave(w, r)
	})
	err := http.ListenAndServe("127.0.0.1:"+os.Getenv("FUNCTIONS_CUSTOMHANDLER_PORT"), mux)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// behave answers by the last part of the path.
func behave(w http.ResponseWriter, r *http.Request) {
	answer := func(contentType, body string) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
	name, argument, _ := strings.Cut(path.Base(r.URL.Path), "-")
	switch name {
	case "Least":
		answer("application/json", "{}")
	case "Charset":
		answer("application/json; charset=utf-8", `{"outputs":{},"LOGS":[],"returnvalue":1}`)
	case "Trailing":
		answer("application/json", "{}garbage")
	case "Logs":
		answer("application/json", `{"Outputs":{},"Logs":["one","two"],"ReturnValue":null}`)
	case "Status":
		code, _ := strconv.Atoi(argument)
		if code == http.StatusTemporaryRedirect || code == http.StatusSeeOther || code == http.StatusFound {
			w.Header().Set("Location", "/Least")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		switch {
		case code >= 300:
			_, _ = io.WriteString(w, `{"Logs":["thrown away"]}`)
		case code != http.StatusNoContent:
			_, _ = io.WriteString(w, "{}")
		}
	case "Sniffed": // what Go answers when no type is set
		_, _ = io.WriteString(w, `{"Outputs":{},"Logs":[],"ReturnValue":null}`)
	case "Xml":
		answer("application/xml", "{}")
	case "Problem":
		answer("application/problem+json", "{}")
	case "Malformed":
		answer("application/json", `{"Outputs":`)
	case "Array":
		answer("application/json", "[]")
	case "Empty":
		w.Header().Set("Content-Type", "application/json")
	case "Null":
		answer("application/json", "null")
	case "Forever":
		time.Sleep(time.Hour)
	case "Slow":
		time.Sleep(700 * time.Millisecond)
		answer("application/json", "{}")
	case "Broken":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	case "Exit":
		code, _ := strconv.Atoi(argument)
		fmt.Fprintln(os.Stderr, "exiting on purpose")
		os.Exit(code)
	case "Speak":
		fmt.Println(`{"msg":"to stdout"}`)
		fmt.Fprintln(os.Stderr, "a warning to stderr")
		fmt.Println(strings.Repeat("x", maxLine+10))
		answer("application/json", "{}")
	case "Output":
		answer("application/json", `{"Outputs":{"res":{"statusCode":"201","headers":{"X-Made":"here","Content-Type":"application/json"},"body":{"a":[1,2.50]}}}}`)
	case "Bodyless":
		answer("application/json", `{"Outputs":{}}`)
	case "Returned":
		answer("application/json", `{"ReturnValue":"aGVsbG8="}`)
	default:
		w.Header().Set("X-From", "handler")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "passed through")
	}
}

// echo sends back line by line what comes in.
func echo(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex()
	w.WriteHeader(http.StatusOK)
	_ = control.Flush()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		_, _ = fmt.Fprintln(w, "echo", lines.Text())
		_ = control.Flush()
	}
}

// hostMain runs a host until it is killed.
func hostMain() int {
	h, err := Start(context.Background(), Options{
		AppDir: os.Getenv("TEST_APP"), Account: account.Account{ConnectionString: os.Getenv("TEST_ACCOUNT")},
		Settings: map[string]string{"TEST_ROLE": "handler"}, HostID: "killed", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("handler", h.HandlerPID())
	time.Sleep(time.Minute)
	return 0
}
