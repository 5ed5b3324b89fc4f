package main

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"isochrone/prober/reflect"
)

// metrics are what /metrics shows. Their names are part of the program's interface.
type metrics struct {
	registry *prometheus.Registry

	assignmentsTaken    prometheus.Counter
	assignmentsRunning  prometheus.Gauge
	assignmentsFinished prometheus.Counter
	documentsDelivered  prometheus.Counter
	deliveryFailures    prometheus.Counter
	sessionsAdmitted    prometheus.Counter
	sessionsRefused     map[reflect.Reason]prometheus.Counter
	samplesSent         prometheus.Counter
	samplesReceived     prometheus.Counter
	heartbeats          prometheus.Counter
	heartbeatFailures   prometheus.Counter
	pollFailures        prometheus.Counter
	lastPoll            prometheus.Gauge
}

func newMetrics(queued func() float64) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), sessionsRefused: map[reflect.Reason]prometheus.Counter{}}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	m.assignmentsTaken = counter("isochrone_assignments_taken_total", "Assignments that this prober took on.")
	m.assignmentsRunning = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "isochrone_assignments_running", Help: "Assignments taken on and not finished, those that wait for their start included.",
	})
	m.assignmentsFinished = counter("isochrone_assignments_finished_total", "Assignments whose document is made.")
	m.documentsDelivered = counter("isochrone_documents_delivered_total", "Documents that storage acknowledged.")
	m.deliveryFailures = counter("isochrone_delivery_failures_total", "Attempts at delivering a document that failed, and documents given up.")
	m.sessionsAdmitted = counter("isochrone_sessions_admitted_total", "Sessions that the reflector admitted.")
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "isochrone_sessions_refused_total", Help: "Connections that the reflector closed without a byte and datagrams that it dropped, by reason.",
	}, []string{"reason"})
	for _, reason := range reflect.Reasons() { // from the start, so that a first refusal is an increase
		m.sessionsRefused[reason] = refused.WithLabelValues(string(reason))
	}
	m.samplesSent = counter("isochrone_samples_sent_total", "Samples sent, warm-up left out.")
	m.samplesReceived = counter("isochrone_samples_received_total", "Samples with a reply in time, warm-up left out.")
	m.heartbeats = counter("isochrone_heartbeats_total", "Registrations that storage acknowledged.")
	m.heartbeatFailures = counter("isochrone_heartbeat_failures_total", "Attempts at registering that failed.")
	m.pollFailures = counter("isochrone_poll_failures_total", "Attempts at fetching assignments that failed.")
	m.lastPoll = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "isochrone_last_poll_success_timestamp_seconds", Help: "When assignments were last fetched, in Unix time; 0 is never.",
	})
	m.registry.MustRegister(m.assignmentsRunning, m.lastPoll, refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "isochrone_documents_queued", Help: "Documents that wait for storage to acknowledge them.",
		}, queued),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Gather implements prometheus.Gatherer. The process collector's process_network_… count the
// bytes of the whole network namespace, with host networking those of every program on the
// machine; under that name they would mislead.
func (m *metrics) Gather() ([]*dto.MetricFamily, error) {
	families, err := m.registry.Gather()
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
		return strings.HasPrefix(f.GetName(), "process_network_")
	}), err
}

// SessionAdmitted implements reflect.Observer.
func (m *metrics) SessionAdmitted() { m.sessionsAdmitted.Inc() }

// SessionRefused implements reflect.Observer.
func (m *metrics) SessionRefused(r reflect.Reason) { m.sessionsRefused[r].Inc() }
