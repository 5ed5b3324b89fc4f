// What each figure is, when to trust it, and where it comes from. One entry a figure; every heading that
// shows one has a button to its entry.

export interface Explanation {
  title: string;
  what: string;
  trust: string;
  source: string;
}

export const explanations: Record<string, Explanation> = {
  p50: {
    title: "p50, the median round trip",
    what: "Half of the round trips of the run were faster, half slower, in milliseconds. A round trip is from just before a probe leaves the source until its answer is back there. The run shown is the newest of the pair.",
    trust: "The range beside it holds the true median with 95 % confidence; it is from the order of the samples and assumes no distribution. Trust a difference between two pairs when their ranges are apart. A “~” says that the measurement's own noise, such as probes that left late, may be in it.",
    source: "Table of newest runs, columns p50_us, p50_low_us and p50_high_us: exact, from all samples of the run.",
  },
  p99: {
    title: "p99, the slow end",
    what: "One round trip in a hundred was slower than this, in milliseconds.",
    trust: "It is given only when at least ten samples lie above it: n(1 − p) ≥ 10, so from 1,000 samples on. “few” stands where a run has too few. On pages over time it is from merged histograms, never an average of percentiles.",
    source: "Columns p99_us, p99_low_us and p99_high_us of the newest runs; over time, HdrHistograms of the runs added up.",
  },
  loss: {
    title: "Loss",
    what: "Samples sent that had no answer when their timeout was over, as a part of all that were sent. A late answer counts as lost, and is counted as late as well.",
    trust: "The range is Wilson's at 95 %. No loss among 200 samples still allows for up to 1.9 %: look at the range, not at the 0.",
    source: "Columns sent, lost and loss_ratio with its two ends.",
  },
  excess: {
    title: "Excess over light",
    what: "The median round trip less what light in fibre needs over the great circle and back. It is what routing, equipment and queues add.",
    trust: "Regions are placed by their published coordinates, some of which are a city's and not a building's: below about 1 ms it says little. It is absent for endpoints and where the regions are not known.",
    source: "p50 minus 2 × distance ÷ 204 km per ms; distance from the catalogue of regions.",
  },
  stretch: {
    title: "Stretch over light speed",
    what: "The median round trip over that of light in fibre along the great circle. 1 would be a straight fibre with nothing in between; 1.5 to 2 is usual on land.",
    trust: "Given from 500 km on; nearer, the equipment and the coordinates decide. A figure below 1 is impossible, and means wrong coordinates or a wrong region.",
    source: "p50 ÷ (2 × distance ÷ 204 km per ms).",
  },
  published: {
    title: "Measured against published",
    what: "In the matrix the median measured here, on a pair's page the p95 of the time shown, less the round trip that Microsoft publishes for the two regions. Below 0 it is faster than published.",
    trust: "The published figure is a 95th percentile over 30 days, so that a median should lie below it. It is measured between Microsoft's own agents, over its own network: over vpn or a relay more is to be expected. Look into pairs above 0.",
    source: "Azure network round-trip latency statistics, as the catalogue holds them; p50 of the newest run.",
  },
  throughput: {
    title: "Throughput",
    what: "Payload that arrived, in bits a second: to target is from source to target, from target is the way back. The time of the ramp at the beginning is left out, and so are all headers.",
    trust: "It is what the probes' machines, connections and caps reach, and not what the line could carry: compare pairs with the same virtual machine size. One run takes seconds; look at several hours.",
    source: "Bulk runs, counted at the end that receives: throughput_up_bps and throughput_down_bps.",
  },
  n: {
    title: "n, how many samples",
    what: "The round trips that a figure is from: probes that were answered in time.",
    trust: "More samples make ranges narrower, by the root of their number. They do not make a run more typical of the hour than it is.",
    source: "Column n of the run; over time, the count of the merged histograms.",
  },
  age: {
    title: "Slot and age",
    what: "The instant that the schedule had planned for the run, in UTC, and how long ago that was. A “*” marks a run older than the newest of the matrix: the pair was not measured since, or not yet.",
    trust: "A pair that stays old while others go on is a fault of its prober or its path: look at Probers.",
    source: "Column slot. The age was computed by the function when it answered.",
  },
  state: {
    title: "State",
    what: "measured: the newest run has answers. failed: it has none, and the code says why; a failed run is a result. missing: the configuration has the pair, and there is no run of it.",
    trust: "Codes come from a closed list (timeout, refused, target_down, expired, …). expired means that the prober never reported, so that nobody knows what happened.",
    source: "docs/formats.md lists the codes.",
  },
  distance: {
    title: "Distance and light",
    what: "The great circle between the two regions, and the round trip of light in fibre over it: 2 × distance ÷ 204 km per ms.",
    trust: "No cable follows the great circle. A median below this floor is impossible and is marked.",
    source: "Coordinates of the regions in the catalogue.",
  },
  quantiles: {
    title: "Percentiles over the time shown",
    what: "All samples of the time shown, put together: half were faster than p50, 95 in a hundred faster than p95, and so on.",
    trust: "From merged HdrHistograms with three significant digits, so within 0.1 % of exact; never an average of percentiles. A percentile p needs n(1 − p) ≥ 10.",
    source: "Hour rows' histograms added up.",
  },
  series: {
    title: "Round trip by hour",
    what: "Each point is an hour: the median of its samples, and its p99 in the thinner line. The dashed line is the baseline. Hatched hours have no data; no line crosses them. Vertical lines are change points.",
    trust: "An hour rests on the runs in it, six when one is due every ten minutes. The vertical axis does not begin at zero unless you choose so: look at its figures before at its shape.",
    source: "Hour rows: p50 and p99 from the merged histogram of the hour's runs.",
  },
  baseline: {
    title: "Baseline",
    what: "The least hourly minimum of the last 28 days, begun anew where the route changes: what the path takes when nothing waits in queues.",
    trust: "In the first hours of a history, and after a change of route, it rests on little and is too high rather than too low.",
    source: "Rolling minimum of column min_us of the hours.",
  },
  excess_hours: {
    title: "Excess over the baseline",
    what: "The hourly median less the baseline: time spent waiting, rather than travelling.",
    trust: "As good as the baseline. A new route changes the baseline, so that a change of route does not count as waiting.",
    source: "p50_us minus baseline_us of the hours.",
  },
  changes: {
    title: "Change points",
    what: "Hours at which the level of the series changed for good, with the medians before and after. rerouted: the least round trips moved, so it is another road. congestion: the medians moved and the floor stayed, so it is queues. step: the least round trips are not known.",
    trust: "A change is shown when chance would make it in fewer than one of a million cases (p < 10⁻⁶) and it is at least 0.5 ms and 1 %. The newest hours need some more data before a change in them can be told.",
    source: "E-divisive with windows and t-test (Matteson & James 2014; Hunter 2023), on hourly medians without their daily course and on hourly minima.",
  },
  trend: {
    title: "Trend",
    what: "How much the round trip rises or falls a day, as the median of the slopes between any two hours (Theil–Sen), with its 95 % range.",
    trust: "Trust it when p is small and the range does not hold 0. p is Mann–Kendall's with Hamed and Rao's variance, which knows that an hour resembles the one before it. A step looks like a trend: look at the change points first, and read the slope before the p. Four weeks make it worth a look.",
    source: "Hourly medians of the time shown; docs/statistics.md, Trend.",
  },
  diurnal: {
    title: "Daily rhythm",
    what: "Whether the series swings once a day, and by how much from trough to crest. none, low (over 0.5 ms), mild (over 1 ms) or severe (over 3 ms).",
    trust: "It needs 14 days without gaps over three hours, and says so where there are fewer.",
    source: "Welch power spectrum of half-hour medians in segments of three days; amplitude 2·√(2P) (Fontugne et al., IMC 2020).",
  },
  profile: {
    title: "Hour profile",
    what: "What each hour of the day is usually like: the median of the hourly medians in the line, the middle half of them in the band.",
    trust: "n is how many days an hour rests on; the band needs four. A week makes it mean something. Days on which clocks change have 23 or 25 hours, and are counted right in local time.",
    source: "Hourly medians of the time shown, by hour in UTC or in the time zone of either region (IANA).",
  },
  heatmap: {
    title: "Hour by weekday",
    what: "How much above its own level the pair usually is at each hour of each weekday: the median of the hourly excess, after each stretch between change points has lost its median.",
    trust: "A step in the middle of a week paints no weekday hot, since every stretch is taken by itself. With four weeks each field rests on about four hours: one bad night shows. “–” is an hour without data.",
    source: "Detrended hourly medians, by weekday and hour in the time chosen above.",
  },
  distribution: {
    title: "Distribution",
    what: "Which part of all round trips took how long. The vertical lines are percentiles.",
    trust: "Several humps are several routes, or times before and after a change point: choose a shorter time to tell.",
    source: "Merged HdrHistograms of the time shown, in bins of equal width.",
  },
  compare: {
    title: "Difference of two paths",
    what: "How much longer one path takes than the other, from runs of the same pair at the same slot: half of the differences' pairwise means are above it, half below (Hodges–Lehmann).",
    trust: "The range holds the true difference with 95 % confidence. Where it does not hold 0, one path is faster. Runs without a partner at the same slot are left out.",
    source: "Paired runs of the two paths.",
  },
  recovery: {
    title: "Recovery calculator",
    what: "What the pair means for disaster recovery, for a rate of change, an amount of data, a window for copying and an outage of so long.",
    trust: "It reckons with the throughput that 95 of 100 measured hours reach (p5), with what the probes' machines can, beside whatever else is on the line: your replication may reach less.",
    source: "Hours of the throughput probe and of a latency probe over 28 days; docs/recovery.md.",
  },
  line: {
    title: "What the line carries, p5",
    what: "The throughput to the target that 95 of 100 measured hours reach; an hour counts with the median of its runs.",
    trust: "It is given from 20 hours on, and is then the least of them; the range beside it needs more. A machine's own cap is measured as the line's.",
    source: "Hours of the throughput probe over 28 days: the 5 % quantile by nearest rank, its range by order statistics.",
  },
  rpo: {
    title: "Sustained, and what would be lost",
    what: "Whether the line carries the changes as fast as they come in 95 of 100 measured hours, and how old the oldest change is, at worst in a usual day, that the other side does not have yet: that much would be lost.",
    trust: "It needs 20 measured hours. Sustained: one round trip at p99. Not sustained: what waits at the worst hour of a usual day; “–” when it grows for ever. A product's own queues come on top: this is what the network allows.",
    source: "p5 of the hours' throughput, p99 of the round trips, rate of change as entered; docs/recovery.md.",
  },
  commit: {
    title: "Cost of a synchronous commit",
    what: "What each commit waits for when the other region must confirm it: one round trip, the usual one (p50) and the slow one (p99).",
    trust: "A protocol that needs two round trips a commit waits twice as long.",
    source: "Merged histograms of the pair's latency probe.",
  },
  catch_up: {
    title: "Catching up after the outage",
    what: "How long until the copy is level again after an outage: what gathered meanwhile, sent with what the line carries beyond the ongoing changes.",
    trust: "“–” when the line does not carry more than the changes: then it never catches up. The range is that of p5.",
    source: "p5 of throughput to the target, rate of change and outage as entered.",
  },
  seed: {
    title: "Time for the first copy",
    what: "How long it takes to copy all the data once, by the hour (UTC) at which it begins: some hours of the day carry less.",
    trust: "It uses the median throughput of each hour of the day; an hour of the day that was never measured makes it absent. Changes made meanwhile are not in it.",
    source: "Throughput by hour of the day; size as entered.",
  },
  window_limit: {
    title: "Ceiling of one connection",
    what: "One TCP connection cannot carry more than its window each round trip: window ÷ round trip.",
    trust: "More connections, or a larger window, raise it.",
    source: "3 MiB, half of Linux's largest receive buffer, ÷ median round trip.",
  },
  coverage_hours: {
    title: "Hours with data",
    what: "Of the hours in the time shown, those that have a row. The others are hatched in the picture and in no figure.",
    trust: "The fewer they are, the less a figure says of the whole time: a pair that is measured by day alone has no night in it.",
    source: "Hour rows of the series.",
  },
  coverage: {
    title: "Coverage",
    what: "Of the runs that were planned, the part whose document came in. A failed run came in: it is a result. expired runs never reported; missed ones were never handed out. Those that are still awaited are left out; “…” stands where all are.",
    trust: "100 % means that every planned run has a row, and not that every probe was answered.",
    source: "Plans of the sweeps held against the rows, when asked; no counters are kept.",
  },
  prober_state: {
    title: "State of a prober",
    what: "fresh: its heartbeat is young. silent: it had one, and it is old. never registered: the configuration has it, and storage has nothing of it. not configured: it registers, and the configuration does not have it.",
    trust: "When all are silent at once, it is storage or this app that is away, and not the probers.",
    source: "Registrations in storage held against sweep.yaml.",
  },
  heartbeat: {
    title: "Heartbeat",
    what: "How long ago the prober last said that it is there. After three missed heartbeats others stop measuring towards it.",
    trust: "A prober can be alive and measure nothing: look at its coverage too.",
    source: "The prober's registration in storage.",
  },
  clock: {
    title: "Clock error",
    what: "How far the prober's clock may be from true time. It bounds what one-way delays can say; round trips do not depend on it.",
    trust: "It is the prober's own estimate from its time service.",
    source: "The prober's registration.",
  },
  alerts: {
    title: "Alerts",
    what: "What departed from the usual: a deviation, a change point, coverage, a recovery objective that is not met. Once for as long as it lasts.",
    trust: "A deviation needs three windows running above four times the usual spread, and 0.5 ms.",
    source: "The alerts that the app keeps as rows, with when they were raised and when they ended.",
  },
};
