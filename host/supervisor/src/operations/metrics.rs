//! What a supervisor counts, for Prometheus. Labels have few values: nothing that a routine or a token names is among them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::progress::Progress;
use crate::lease::Held;
use crate::outbox::Outbox;
use crate::web::Outgoing;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    /// `event`, `waiting`, `failed`, or why the host stopped it: `fuel_exhausted`, `timed_out`, …
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Lost {
    /// `taken_back` or `over`.
    reason: &'static str,
}

/// The counters of one supervisor. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    ended: Family<Ended, Counter>,
    seconds: Histogram,
    lost: Family<Lost, Counter>,
    pub(crate) claimed: Counter,
    pub(crate) returned: Counter,
    pub(crate) claims_refused: Counter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            ended: Family::default(),
            // 1 ms to about 9 hours.
            seconds: Histogram::new(exponential_buckets(0.001, 4.0, 13)),
            lost: Family::default(),
            claimed: Counter::default(),
            returned: Counter::default(),
            claims_refused: Counter::default(),
        }
    }

    /// A routine ran to its end, whichever it was.
    pub(crate) fn ended(&self, outcome: &'static str, after: Duration) {
        self.ended.get_or_create(&Ended { outcome }).inc();
        self.seconds.observe(after.as_secs_f64());
    }

    /// A lease was lost while its routine ran.
    pub(crate) fn lost(&self, reason: &'static str) {
        self.lost.get_or_create(&Lost { reason }).inc();
    }

    /// Everything in Prometheus's text form.
    pub(crate) fn text(&self, now: Now) -> String {
        let mut registry = Registry::with_prefix("stateous");
        let of = |counter: &Counter| counter.clone();
        registry.register("attempts", "Attempts whose routine ran to an end", self.ended.clone());
        registry.register("attempt_seconds", "How long routines ran", self.seconds.clone());
        registry.register(
            "leases_lost",
            "Attempts that were lost while their routine ran",
            self.lost.clone(),
        );
        registry.register("tasks_claimed", "Tasks that were granted to this supervisor", of(&self.claimed));
        registry.register(
            "tasks_returned",
            "Tasks that were given back before they began",
            of(&self.returned),
        );
        registry.register(
            "claims_refused",
            "Claims that the control plane refused",
            of(&self.claims_refused),
        );
        registry.register_collector(Box::new(now));
        let mut text = String::new();
        // Writing into a text does not fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

/// What is read at the moment of a scrape.
pub(crate) struct Now {
    pub(crate) slots: usize,
    pub(crate) held: Arc<Held>,
    pub(crate) outbox: Outbox,
    pub(crate) out: Arc<Outgoing>,
    pub(crate) progress: Arc<Progress>,
}

impl std::fmt::Debug for Now {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Now").finish_non_exhaustive()
    }
}

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut gauge = |name: &str, help: &str, value: i64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let size = self.outbox.size();
        gauge("slots", "How many routines may run at once", whole(self.slots as u64))?;
        gauge("attempts_held", "Attempts that this supervisor holds", whole(self.held.len() as u64))?;
        gauge("outbox_messages", "Messages that the control plane has not taken yet", whole(size.messages))?;
        gauge(
            "outbox_bytes",
            "Bytes of messages that the control plane has not taken yet",
            whole(size.bytes),
        )?;
        gauge("outbox_parked", "Damaged messages that were put aside", whole(self.outbox.parked()))?;
        gauge("healthy", "1 while claims are answered", i64::from(self.progress.health().healthy))?;
        if let Some(since) = self.progress.since_answer() {
            gauge("claim_answer_age_seconds", "Since the last answer to a claim", whole(since.as_secs()))?;
        }
        let counts = &self.out.counts;
        for (name, help, number) in [
            ("http_requests", "HTTP requests that routines sent", &counts.requests),
            ("http_refused", "HTTP requests of routines that got no answer", &counts.refused),
            ("http_sent_bytes", "Bytes of bodies that routines sent", &*counts.bytes_out),
            ("http_received_bytes", "Bytes of bodies that routines received", &*counts.bytes_in),
        ] {
            let counter = ConstCounter::new(number.load(Ordering::Relaxed));
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}
