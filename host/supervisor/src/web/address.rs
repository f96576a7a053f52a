//! Which addresses a guest's request may reach: those of the public internet, unless the owner says otherwise by name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to somebody on the public internet: not to this machine, this network, a cloud's metadata
/// service, or a range that is set aside.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let set_aside = match (a, b, c) {
        // This network, this machine, multicast and what is reserved beyond it.
        (0 | 127 | 224..=255, ..) => true,
        // Private networks; carriers' own.
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => true,
        // Link-local: clouds answer with credentials there.
        (169, 254, _) => true,
        // Protocol assignments, documentation, old relays, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) => true,
        _ => false,
    };
    !set_aside
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = address.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let parts = address.segments();
    match parts {
        // A translator reaches the IPv4 address at the end.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)),
        // Documentation, protocol assignments (tunnels among them).
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // A tunnel to the IPv4 address behind the prefix.
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Everything else that is public begins with 001.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let check = |text: &str, public: bool| {
            assert_eq!(is_public(text.parse().unwrap()), public, "{text}");
        };
        for public in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "169.253.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ] {
            check(public, true);
        }
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::1",
            "2002:a9fe:a9fe::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "ff02::1",
            "fec0::1",
        ] {
            check(private, false);
        }
    }
}
