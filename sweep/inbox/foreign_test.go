package inbox_test

import (
	"testing"

	"isochrone/sweep/inbox"
)

func TestForeignSumTellsBodyAndParametersApart(t *testing.T) {
	seen := map[string]bool{}
	for _, sum := range []string{
		inbox.ForeignSum(nil, nil), inbox.ForeignSum([]byte("x"), nil), inbox.ForeignSum(nil, map[string]string{"x": ""}),
		inbox.ForeignSum(nil, map[string]string{"": "x"}), inbox.ForeignSum([]byte(`{"x":""}`), nil),
	} {
		if seen[sum] {
			t.Errorf("sum %s twice", sum)
		}
		seen[sum] = true
	}
	if inbox.ForeignSum(nil, nil) != inbox.ForeignSum(nil, map[string]string{}) {
		t.Error("no parameters have two sums")
	}
}
