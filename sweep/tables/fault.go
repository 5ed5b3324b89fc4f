package tables

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"isochrone/prober/wire/account"
)

// A fault is what the service answered when it did not do what was asked.
type fault struct {
	Status  int    // of the operation: of the one inside, when a batch failed
	Code    string // of the service
	Index   int    // of the batch's operation that failed; -1 outside a batch
	Message string
	after   time.Duration // that the service asks to wait
	cause   error
}

func (f *fault) Error() string {
	at := ""
	if f.Index >= 0 {
		at = fmt.Sprintf("operation %d of the batch: ", f.Index)
	}
	text := fmt.Sprintf("%s%d %s: %s", at, f.Status, f.Code, f.Message)
	if remedy := account.Denied(f.Status, f.Code); remedy != "" {
		text += " (" + remedy + ")"
	}
	return text
}

func (f *fault) Unwrap() error { return f.cause }

// readFault finds the service's answer in an error, or nil when err holds none.
//
// A batch that failed is an azcore.ResponseError with status 202 and no code: the SDK reports
// the answer around the failed operation. Its body holds the operation's own answer, a status
// line and a JSON error whose message begins with the operation's index.
func readFault(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return nil
	}
	f = &fault{Status: response.StatusCode, Code: response.ErrorCode, Index: -1, cause: err}
	var body []byte
	if response.RawResponse != nil {
		f.after = retryAfter(response.RawResponse.Header)
		body, _ = runtime.Payload(response.RawResponse) // read and kept by the SDK; without it the fault has no text
	}
	f.read(string(body))
	return f
}

var (
	statusLine = regexp.MustCompile(`(?m)^HTTP/1\.[01] ([4-5]\d\d)`)
	codeText   = regexp.MustCompile(`"code"\s*:\s*"(\w+)"`)
	valueText  = regexp.MustCompile(`"value"\s*:\s*"((?:[^"\\]|\\.)*)"`)
	indexText  = regexp.MustCompile(`^(\d{1,3}):`)
)

// read takes from the answer's body what the headers do not say.
func (f *fault) read(body string) {
	if m := statusLine.FindStringSubmatchIndex(body); m != nil && f.Status == http.StatusAccepted {
		f.Status, _ = strconv.Atoi(body[m[2]:m[3]])
		f.Index = 0 // the service leaves the index out when there is one operation
		body = body[m[0]:]
	}
	if m := codeText.FindStringSubmatch(body); m != nil && f.Code == "" {
		f.Code = m[1]
	}
	if m := valueText.FindStringSubmatch(body); m != nil {
		f.Message, _, _ = strings.Cut(m[1], `\n`) // the lines below hold the request's id and time
		if i := indexText.FindStringSubmatch(f.Message); i != nil {
			f.Index, _ = strconv.Atoi(i[1])
			f.Message = f.Message[len(i[0]):]
		}
	}
}

func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.Atoi(h.Get("x-ms-retry-after-ms")); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil && s > 0 {
		return time.Duration(s) * time.Second
	}
	return 0
}

// temporary says whether the same request may succeed later.
func (f *fault) temporary() bool {
	switch f.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return f.Code == string(aztables.TableBeingDeleted)
}

// conflict says that somebody else, or our own try whose answer was lost, changed the row first.
func (f *fault) conflict() bool {
	return slices.Contains([]string{string(aztables.EntityAlreadyExists), string(aztables.UpdateConditionNotSatisfied),
		string(aztables.ResourceNotFound), string(aztables.EntityNotFound)}, f.Code)
}

// missing says that the row or its table does not exist.
func (f *fault) missing() bool { return f.Status == http.StatusNotFound }
