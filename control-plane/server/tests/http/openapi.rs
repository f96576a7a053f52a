//! The document of the API: kept in the repository, so that every change of the API shows.

use crate::harness::Plane;

#[tokio::test]
async fn the_document() {
    let plane = Plane::new().await;
    let answer = plane.send("GET", "/openapi.json", "").await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let mut pretty = serde_json::to_vec_pretty(&answer.json()).unwrap();
    pretty.push(b'\n');
    insta::assert_binary_snapshot!("openapi.json", pretty);
}
