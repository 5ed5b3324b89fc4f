package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCostCountsWhatIsSentAndBySideThatSendsIt(t *testing.T) {
	got := mustMake(t, input(t)).Cost()
	// Of the tcp runs only those between westeurope and northeurope over the public path, those
	// of eastus and brazilsouth to both of them, and northeurope's to westeurope over vpn are
	// made; each is 105 requests of 64 bytes after a hello of 64, and 105 responses of 16 after
	// a hello of 48. Handshakes carry no payload: 25 each, westeurope's to northeurope and
	// brazilsouth, brazilsouth's to westeurope and northeurope.
	const request, response = 64 + 105*64, 48 + 105*16
	want := Cost{
		Runs: 20, Samples: 7*105 + 4*25, Bytes: 7 * (request + response),
		Longest: 105*20*time.Millisecond + 2*time.Second,
		Probers: []ProberCost{
			{Prober: "brazilsouth", Runs: 6, Down: 2, Samples: 2*105 + 2*25, RequestBytes: 2 * request},
			{Prober: "eastus", Runs: 3, Down: 1, Samples: 2 * 105, RequestBytes: 2 * request},
			{Prober: "northeurope", Runs: 4, Down: 2, Samples: 2 * 105, RequestBytes: 2 * request, ResponseBytes: 3 * response},
			{Prober: "westeurope", Runs: 7, Down: 4, Samples: 105 + 2*25, RequestBytes: request, ResponseBytes: 4 * response},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	var egress int64
	for _, p := range got.Probers {
		egress += p.EgressBytes()
	}
	if egress != got.Bytes {
		t.Errorf("the probers send %d bytes, the plan %d", egress, got.Bytes)
	}
}

func TestCostOfNothingIsNothing(t *testing.T) {
	in := input(t)
	in.Slot = slot.Add(time.Minute)
	if d := cmp.Diff(Cost{}, mustMake(t, in).Cost()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
