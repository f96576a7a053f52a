//! `wasi:http`, outgoing only: requests go to the attempt's [`Web`], and nowhere else.
//!
//! Resources, streams and headers are wasmtime's own; it has no client built in here.

use std::sync::Arc;

use http_body_util::BodyExt as _;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{
    Error, RequestOptions, Result, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use crate::attempt::Attempt;
use crate::web::{Patience, Web, WebError};

/// The most bytes of the headers of one message.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// The HTTP half of an attempt.
pub(crate) struct State {
    ctx: WasiHttpCtx,
    hooks: Hooks,
}

impl State {
    pub(crate) fn new(web: Arc<dyn Web>) -> Self {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(HEADER_BYTES_MAX);
        Self { ctx, hooks: Hooks(web) }
    }
}

impl WasiHttpView for Attempt {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.http.hooks, table: &mut self.wasi.table, ctx: &mut self.http.ctx }
    }
}

struct Hooks(Arc<dyn Web>);

/// What drives the connection of an answer; ours is driven by whoever made it.
type Driver = Box<dyn Future<Output = Result<()>> + Send>;

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Driver,
    ) -> Box<dyn Future<Output = Result<(http::Response<WasiBody>, Driver)>> + Send> {
        let options = options.unwrap_or_default();
        let patience = Patience {
            connect: options.connect_timeout,
            first_byte: options.first_byte_timeout,
            between_bytes: options.between_bytes_timeout,
        };
        let request = request.map(|body| {
            body.map_err(|error| WebError::Protocol(format!("the routine broke its request off: {error}")))
                .boxed_unsync()
        });
        let web = Arc::clone(&self.0);
        Box::new(async move {
            let answer = web.send(request, patience).await.map_err(told)?;
            let answer = answer.map(|body| body.map_err(told).boxed_unsync());
            Ok((answer, Box::new(std::future::ready(Ok(()))) as Driver))
        })
    }

    /// Never asked: nothing here is hyper's.
    fn p2_error_from_hyper(&mut self, _: &hyper::Error) -> ErrorCode {
        ErrorCode::HttpProtocolError
    }
}

/// The reason in WASI's words. The texts stay here: a guest acts on the code, and people read the log.
fn told(error: WebError) -> Error {
    match error {
        WebError::Denied(_) => Error::HttpRequestDenied,
        WebError::AddressDenied(_) => Error::DestinationIpProhibited,
        WebError::InvalidUrl(_) => Error::HttpRequestUriInvalid,
        WebError::Dns(why) => Error::DnsError { rcode: Some(why), info_code: None },
        WebError::Unreachable(_) => Error::ConnectionRefused,
        WebError::ConnectTimeout(_) => Error::ConnectionTimeout,
        WebError::Tls(_) => Error::TlsCertificateError,
        WebError::AnswerTimeout(_) => Error::HttpResponseTimeout,
        WebError::RequestTooLarge(most) => Error::HttpRequestBodySize(Some(most)),
        WebError::AnswerTooLarge(most) => Error::HttpResponseBodySize(Some(most)),
        WebError::TooMany(_) => Error::ConnectionLimitReached,
        WebError::Protocol(_) => Error::HttpProtocolError,
    }
}
