package main

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"isochrone/prober/reflect"
	"isochrone/prober/spool"
)

// metrics are what /metrics shows. Their names are part of the program's interface.
type metrics struct {
	registry *prometheus.Registry

	assignmentsTaken    prometheus.Counter
	assignmentsRunning  prometheus.Gauge
	assignmentsFinished prometheus.Counter
	documentsDelivered  prometheus.Counter
	deliveryFailures    prometheus.Counter
	documentsDropped    map[spool.Reason]prometheus.Counter
	sessionsAdmitted    prometheus.Counter
	sessionsRefused     map[reflect.Reason]prometheus.Counter
	samplesSent         prometheus.Counter
	samplesReceived     prometheus.Counter
	heartbeats          prometheus.Counter
	heartbeatFailures   prometheus.Counter
	pollFailures        prometheus.Counter
	lastPoll            prometheus.Gauge
}

func newMetrics(waiting func() spool.Stats) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(), sessionsRefused: map[reflect.Reason]prometheus.Counter{}, documentsDropped: map[spool.Reason]prometheus.Counter{},
	}
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
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "isochrone_documents_dropped_total", Help: "Documents given up before storage acknowledged them, by reason.",
	}, []string{"reason"})
	for _, reason := range spool.Reasons() {
		m.documentsDropped[reason] = dropped.WithLabelValues(string(reason))
	}
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
	gauge := func(name, help string, of func(spool.Stats) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return of(waiting()) }))
	}
	gauge("isochrone_documents_queued", "Documents that wait for storage to acknowledge them.", func(s spool.Stats) float64 { return float64(s.Documents) })
	gauge("isochrone_documents_queued_bytes", "What they take of the spool, on disk in whole blocks.", func(s spool.Stats) float64 { return float64(s.Bytes) })
	gauge("isochrone_documents_unsaved", "Those among them that only memory has: a kill would lose them.", func(s spool.Stats) float64 { return float64(s.Unsaved) })
	gauge("isochrone_documents_oldest_age_seconds", "How long the oldest of them has waited; 0 when none waits.", func(s spool.Stats) float64 { return s.Oldest.Seconds() })
	m.registry.MustRegister(m.assignmentsRunning, m.lastPoll, refused, dropped,
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

// gaveUp counts a document that is lost.
func (m *metrics) gaveUp(reason spool.Reason) {
	m.deliveryFailures.Inc()
	m.documentsDropped[reason].Inc()
}

// SessionAdmitted implements reflect.Observer.
func (m *metrics) SessionAdmitted() { m.sessionsAdmitted.Inc() }

// SessionRefused implements reflect.Observer.
func (m *metrics) SessionRefused(r reflect.Reason) { m.sessionsRefused[r].Inc() }
