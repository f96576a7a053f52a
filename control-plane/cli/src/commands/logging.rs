//! The log of `serve`, `supervise` and `dev`: one line an event on stderr, as the original prints it.

use std::fmt;

use jiff::tz::TimeZone;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Starts the log. `STATEOUS_LOG` chooses what is logged, as in `STATEOUS_LOG=stateous_supervisor=debug`.
pub(crate) fn start() {
    let filter = EnvFilter::try_from_env("STATEOUS_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter)
        .event_format(Lines)
        .finish();
    // A second start finds the first one's subscriber in place, which is as good.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// `2026-11-29 11:16:27,182 stateous.supervisor: message`, the level before the message when it is not the usual one.
struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        #[expect(
            clippy::disallowed_methods,
            reason = "a log line says when it was written, by the machine's clock"
        )]
        let now = jiff::Timestamp::now().to_zoned_datetime(TimeZone::system());
        let target = event.metadata().target();
        let part = target.split("::").next().unwrap_or(target).replacen('_', ".", 1);
        write!(out, "{},{:03} {part}: ", now.strftime("%Y-%m-%d %H:%M:%S"), now.millisecond())?;
        match *event.metadata().level() {
            Level::ERROR => out.write_str("error: ")?,
            Level::WARN => out.write_str("warning: ")?,
            _ => {}
        }
        let mut message = Message::default();
        event.record(&mut message);
        // Fields repeat what the message says in words; only a message without words shows them.
        if message.0.is_empty() {
            ctx.field_format().format_fields(out.by_ref(), event)?;
        } else {
            out.write_str(&crate::text::escape(&message.0))?;
        }
        writeln!(out)
    }
}

#[derive(Default)]
struct Message(String);

impl tracing::field::Visit for Message {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
