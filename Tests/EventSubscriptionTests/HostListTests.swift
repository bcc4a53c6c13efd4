import EventSubscription
import Testing
import TextFormats

/// Requests of pages are allowed by the same rules as sources, although a page's worker knows only their hosts.
@Suite struct HostListTests {
    @Test(
        arguments: [
            ("https://a.example:443/x", "93.184.216.34", true), ("https://A.Example:443/", "93.184.216.34", true),
            ("http://a.example:80/", "93.184.216.34", false), ("https://b.example:443/", "93.184.216.34", false),
            ("https://a.example.com:443/", "93.184.216.34", false),
            ("http://x.cdn.example:8080/", "93.184.216.34", true),
            ("http://x.cdn.example:8081/", "93.184.216.34", false),
            ("http://cdn.example:8080/", "93.184.216.34", false),
            ("http://r.example:80/", "93.184.216.34", false), ("http://both.example:80/", "93.184.216.34", true),
            // Addresses of local networks must be listed even if their name is.
            ("https://10.0.0.7:443/", "10.0.0.7", true), ("https://10.1.0.7:443/", "10.1.0.7", false),
            ("https://a.example:443/", "10.0.0.7", true), ("https://a.example:443/", "127.0.0.1", false),
            ("https://b.example:443/", "10.0.0.7", false),
            // Wildcards for names match no address.
            ("http://93.184.216.34:9090/", "93.184.216.34", false),
            ("http://any.example:9090/", "93.184.216.34", true),
        ])
    func requestsAreJudgedLikeSources(_ text: String, _ address: String, _ isAllowed: Bool) throws {
        let list = try AllowList([
            "https://a.example", "http://*.cdn.example:8080", "https://10.0.*", "rtmp://r.example", "*://both.example",
            "http://*:9090",
        ])
        let url = try StreamURL(text)
        let port = try #require(url.port)
        let place = try #require(InternetAddress(text: address))
        let target = Reach.Target(scheme: url.scheme.rawValue, host: url.host, port: port)
        #expect((list.hosts.allows(target) && list.reach.allows(place, of: target)) == isAllowed)
        #expect(list.allows(url, at: place) == isAllowed)
    }

    @Test func aWildcardMatchesNoAddressInDisguise() {
        let all = HostList(entries: [HostList.Entry(host: "*")])
        for host in ["a", "a.example", "A.example.", "1.a", "xn--e1afmkfd"] {
            #expect(all.allows(Reach.Target(scheme: "http", host: host, port: 80)), "\(host)")
        }
        for host in [
            "127.1", "2130706433", "0x7f.1", "1.0x7f", "10.0.0.1", "::1", "localhost", "LOCALHOST", "127.0.0.1.",
        ] {
            #expect(!all.allows(Reach.Target(scheme: "http", host: host, port: 80)), "\(host)")
        }
        let six = HostList(entries: [HostList.Entry(scheme: "https", host: "2001:db8::1")])
        #expect(six.allows(Reach.Target(scheme: "https", host: "2001:DB8::1", port: 443)))
        #expect(!HostList(entries: []).allows(Reach.Target(scheme: "https", host: "a.example", port: 443)))
    }
}
