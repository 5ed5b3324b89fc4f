package xmljson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"isochrone/sweep/convert/xmltext"
)

func TestATreeIsBounded(t *testing.T) {
	const most = 1 << 20
	var names strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&names, "<n%d/>", i)
	}
	long := strings.Repeat("x", 50_000)
	for what, parts := range map[string]string{
		"elements":   strings.Repeat("<a/>", 50_000),
		"texts":      strings.Repeat("<a>"+long+"</a>", 50),
		"attributes": strings.Repeat("<a b='' c='' d='' e='' f=''/>", 10_000),
		"names":      names.String(),
		"one text":   strings.Repeat(long, 5),
	} {
		text := "<r>" + parts + "</r>"
		for _, size := range []int64{0, int64(len(text))} {
			var out bytes.Buffer
			err := Convert(&out, strings.NewReader(text), Options{MaxTree: most, Size: size})
			if f, ok := errors.AsType[*xmltext.Fault](err); !ok || !f.Limit || out.Len() > 0 {
				t.Errorf("%s: %v, %d bytes written: want a limit", what, err, out.Len())
			}
			if err := Convert(&out, strings.NewReader(text), Options{Size: size}); err != nil {
				t.Errorf("%s with the usual limit: %v", what, err)
			}
		}
	}
}
