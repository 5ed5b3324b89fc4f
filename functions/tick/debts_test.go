package tick

import (
	"testing"
	"time"
)

func TestDebtsAreBounded(t *testing.T) {
	var b Debts
	for i := range maxMissed + 10 {
		b.add(at(t, "10:00:00").Add(time.Duration(i) * time.Minute))
	}
	all := b.list(func(time.Time) bool { return true })
	if len(all) != maxMissed || !all[0].Equal(at(t, "10:10:00")) {
		t.Errorf("%d slots from %s", len(all), all[0])
	}
	b.drop(all...)
	if left := b.list(func(time.Time) bool { return true }); len(left) != 0 {
		t.Errorf("%d are left", len(left))
	}
}
