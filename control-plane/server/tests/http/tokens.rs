//! Starting and showing tokens.

use crate::harness::{Plane, table};

#[tokio::test]
async fn a_token_is_made_once() {
    let plane = Plane::new().await;
    let requests = [
        ("POST", "/tokens", r#"{"token":"T1","context":{"repo":"acme"}}"#),
        ("POST", "/tokens", r#"{"token":"T1","context":{"repo":"other"}}"#),
        ("POST", "/tokens", r#"{"token":"t1","context":{"repo":"acme"}}"#),
        ("POST", "/tokens", r#"{"token":7}"#),
        ("POST", "/tokens", r#"{"token":"-a"}"#),
        ("POST", "/tokens", r#"{"token":"T2","context":[]}"#),
        ("POST", "/tokens", r#"{"token":"T2","context":null}"#),
        ("POST", "/tokens", r#"{"token":"T2","context":{"repo":1}}"#),
        ("POST", "/tokens", r#"{"token":"T2","workflow":"other","context":{"repo":"a"}}"#),
        ("POST", "/tokens", r#"{"token":"T2","workflow":5,"context":{"repo":"a"}}"#),
        ("POST", "/tokens", r#"{"token":"T2","workflow":"sdlc","context":{"repo":"a"}}"#),
        ("GET", "/tokens/T1", ""),
        ("GET", "/tokens/t1", ""),
    ];
    insta::assert_snapshot!(table(&plane, &requests).await);
}
