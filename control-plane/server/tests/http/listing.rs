//! Listings of tokens: filters, pages, sizes.

use crate::harness::{Answer, Plane, table};

/// The ids of a listing.
fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json().as_array().unwrap().iter().map(|t| t["token"].as_str().unwrap().to_owned()).collect()
}

/// Where the next page is.
fn next(answer: &Answer) -> Option<String> {
    let link = answer.header("link")?;
    Some(link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned())
}

/// Follows the pages of a listing. Answers the ids of each page.
async fn pages(plane: &Plane, path: &str) -> Vec<Vec<String>> {
    let (mut found, mut path) = (Vec::new(), path.to_owned());
    loop {
        let answer = plane.send("GET", &path, "").await;
        found.push(ids(&answer));
        match next(&answer) {
            Some(more) => path = more,
            None => return found,
        }
    }
}

#[tokio::test]
async fn listings_are_filtered_and_bounded() {
    let plane = Plane::new().await;
    for token in ["A", "B", "C"] {
        plane.token(token).await;
        plane.clock.advance(1000);
    }
    plane.send("POST", "/tokens/A/events/stuck", "").await;
    let listed = async |query: &str| {
        let answer = plane.send("GET", &format!("/tokens{query}"), "").await;
        let tokens = answer.json();
        tokens
            .as_array()
            .map(|t| t.iter().map(|t| t["token"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(listed("").await.unwrap(), ["C", "B", "A"]);
    assert_eq!(listed("?status=active").await.unwrap(), ["C", "B"]);
    assert_eq!(listed("?status=completed&limit=1&offset=7").await.unwrap(), ["A"]);
    assert_eq!(listed("?limit=1&limit=02").await.unwrap(), ["C", "B"]);
    assert!(listed("?parent=A").await.unwrap().is_empty());
    let long = format!("/tokens?parent={}", "a".repeat(129));
    let refused = [
        ("GET", "/tokens?limit=0", ""),
        ("GET", "/tokens?limit=1001", ""),
        ("GET", "/tokens?limit=%2B5", ""),
        ("GET", "/tokens?limit=", ""),
        ("GET", "/tokens?status=open", ""),
        ("GET", "/tokens?parent=", ""),
        ("GET", long.as_str(), ""),
    ];
    insta::assert_snapshot!(table(&plane, &refused).await);
}

#[tokio::test]
async fn pages_lead_to_one_another() {
    let plane = Plane::new().await;
    for token in ["A-1", "B-1", "A-2", "B-2", "A-3"] {
        plane.token(token).await;
        plane.clock.advance(1000);
    }
    plane.send("POST", "/tokens/A-2/events/done", "").await;
    plane.send("POST", "/tokens/B-1/events/stuck", "").await;
    let all = [["A-2", "A-3"].as_slice(), &["B-2", "B-1"], &["A-1"]];
    assert_eq!(pages(&plane, "/tokens?limit=2").await, all);
    assert_eq!(pages(&plane, "/tokens?limit=2&cursor=").await, all);
    let check = async |query: &str, expected: &[&[&str]]| {
        assert_eq!(pages(&plane, &format!("/tokens?{query}")).await, expected, "{query}");
    };
    check("workflow=sdlc&limit=4", &[&["A-2", "A-3", "B-2", "B-1"], &["A-1"]]).await;
    check("workflow=other", &[&[]]).await;
    check("state=coding&limit=3", &[&["A-3", "B-2", "B-1"], &["A-1"]]).await;
    check("state=sdlc/testing", &[&["A-2"]]).await;
    check("state=coding&status=active&limit=2", &[&["A-3", "B-2"], &["A-1"]]).await;
    check("status=completed&limit=1", &[&["B-1"]]).await;
    check("prefix=a-&limit=2", &[&["A-1", "A-2"], &["A-3"]]).await;
    check("prefix=A-&state=coding&limit=9", &[&["A-1", "A-3"]]).await;
    // The address of the next page is relative and keeps what was asked for.
    let first = plane.send("GET", "/tokens?status=active&workflow=sdlc&limit=1&other=x", "").await;
    let path = next(&first).unwrap();
    assert!(path.starts_with("/tokens?workflow=sdlc&status=active&limit=1&cursor="), "{path}");
}

#[tokio::test]
async fn what_a_listing_cannot_be_asked() {
    let plane = Plane::new().await;
    let refused = [
        ("GET", "/tokens?cursor=%21", ""),
        ("GET", "/tokens?cursor=bm90IG91cnM", ""),
        ("GET", "/tokens?cursor=MTIzLi1h", ""),
        ("GET", "/tokens?prefix=-a", ""),
        ("GET", "/tokens?prefix=", ""),
        ("GET", "/tokens?workflow=", ""),
        ("GET", "/tokens?state=a/b/c%00", ""),
        ("GET", "/tokens?workflow=sdlc&state=other/coding", ""),
    ];
    insta::assert_snapshot!(table(&plane, &refused).await);
}

#[tokio::test]
async fn large_contexts_never_lie_in_memory_together() {
    let plane = Plane::new().await;
    let filler = "x".repeat(1_000_000);
    for number in 0..12 {
        let body = format!(r#"{{"token":"T-{number:02}","context":{{"repo":"a","filler":"{filler}"}}}}"#);
        assert_eq!(plane.send("POST", "/tokens", &body).await.status, 201);
    }
    // A caller of the original gets the number that it asked for; they go out as they are read.
    let whole = plane.send("GET", "/tokens?limit=11", "").await;
    assert_eq!(whole.header("transfer-encoding"), Some("chunked"));
    assert_eq!(ids(&whole).len(), 11);
    assert!(whole.body.len() > 11_000_000);
    assert_eq!(ids(&plane.send("GET", &next(&whole).unwrap(), "").await), ["T-11"]);
    // Who turns pages gets a page that ends early, and the next one.
    let sizes: Vec<usize> = pages(&plane, "/tokens?limit=11&cursor=").await.iter().map(Vec::len).collect();
    assert_eq!(sizes, [9, 3]);
}
