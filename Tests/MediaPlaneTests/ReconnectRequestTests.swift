import MediaFormats
import TestSupport
import Testing

@testable import RTMP

/// The request to reconnect: what it says, and to which address it leads.
@Suite struct ReconnectRequestTests {
    private static func information(_ properties: [(String, AMF0)]) -> AMF0 {
        .object(properties.map { AMF0.Property(name: $0.0, value: $0.1) })
    }

    private static func read(_ more: [(String, AMF0)]) -> ReconnectRequest? {
        ReconnectRequest(information([("code", .string(ReconnectRequest.code)), ("level", .string("status"))] + more))
    }

    // MARK: - Reading

    @Test func whatTheSpecificationShowsIsRead() {
        #expect(Self.read([]) == ReconnectRequest())
        #expect(Self.read([("tcUrl", .null), ("description", .null)]) == ReconnectRequest())
        #expect(Self.read([("tcUrl", .string(""))])?.target == .same)
        let request = Self.read([
            ("tcUrl", .string("//192.0.2.0/realtimeapp")),
            ("description", .string("The streaming server is undergoing updates.")), ("more", .number(1)),
        ])
        #expect(
            request
                == ReconnectRequest(
                    target: .reference("//192.0.2.0/realtimeapp"),
                    words: "The streaming server is undergoing updates."))
        #expect(request.flatMap { ReconnectRequest($0.information) } == request, "written and read again")
    }

    @Test func anotherStatusIsNoRequest() {
        #expect(ReconnectRequest(Self.information([("code", .string("NetConnection.Connect.Closed"))])) == nil)
        #expect(ReconnectRequest(Self.information([("code", .number(1))])) == nil)
        let code = ("code", AMF0.string(ReconnectRequest.code))
        #expect(ReconnectRequest(Self.information([code, ("level", .string("error"))])) == nil)
        #expect(ReconnectRequest(.string(ReconnectRequest.code)) == nil)
        #expect(ReconnectRequest(Self.information([code])) != nil, "a level is not needed")
    }

    /// A server that names a place which cannot be read does not mean the present one.
    @Test(arguments: [AMF0.number(1), .boolean(true), .array([.string("rtmp://h/live")]), .object([])])
    func aPlaceThatIsNoStringIsInvalid(_ value: AMF0) {
        #expect(Self.read([("tcUrl", value)])?.target == .invalid("its tcUrl is not a string"))
    }

    @Test func textsHaveLimits() throws {
        let long = "rtmp://h/" + String(repeating: "x", count: RTMPAddress.longest)
        guard case .invalid(let fault)? = Self.read([("tcUrl", .string(long))])?.target else {
            Issue.record("a long URL is accepted")
            return
        }
        #expect(fault.contains("longer than"))
        let words = Self.read([("description", .string("a\nb\u{1B}[2J" + String(repeating: "x", count: 9000)))])?.words
        #expect(words?.hasPrefix("ab[2Jx") == true)
        #expect(words?.unicodeScalars.count == 200)
    }

    @Test func onlyTheBitAnnouncesTheCapability() {
        for good in [1, 3, 255] as [Double] { #expect(ReconnectRequest.isAnnounced(by: .number(good))) }
        for bad in [0, 2, -1, 1.5, .nan, .infinity, 1e300] as [Double] {
            #expect(!ReconnectRequest.isAnnounced(by: .number(bad)), "\(bad)")
        }
        #expect(!ReconnectRequest.isAnnounced(by: .string("1")))
        #expect(!ReconnectRequest.isAnnounced(by: nil))
    }

    // MARK: - Resolving

    private static let base = "rtmp://h:1936/live/a/key?x=1"

    @Test(arguments: [
        // The four examples of the specification.
        ("rtmp://foo.mydomain.com:1935/realtimeapp", "rtmp://foo.mydomain.com/realtimeapp"),
        ("rtmp://127.0.0.1/realtimeapp", "rtmp://127.0.0.1/realtimeapp"),
        ("//192.0.2.0/realtimeapp", "rtmp://192.0.2.0/realtimeapp"),
        ("/realtimeapp", "rtmp://h:1936/realtimeapp"),
        ("other", "rtmp://h:1936/live/other"), ("../other", "rtmp://h:1936/other"),
        ("./b/./c", "rtmp://h:1936/live/b/c"), ("../../../b", "rtmp://h:1936/b"),
        ("?vhost=v", "rtmp://h:1936/live/a?vhost=v"), ("/app/?a=b", "rtmp://h:1936/app?a=b"),
        ("rtmps://h/live", "rtmps://h/live"), ("RTMPS://h:444/live/", "rtmps://h:444/live"),
        ("//[::1]:1937/live", "rtmp://[::1]:1937/live"), ("//h/live?to=rtmp://x/y", "rtmp://h/live?to=rtmp://x/y"),
    ])
    func aReferenceIsResolved(_ reference: String, _ url: String) throws {
        let address = try RTMPAddress(Self.base).following(.reference(reference))
        #expect(address.connectURL == url)
        #expect(address.stream == "key?x=1", "the stream stays the same")
        #expect("\(address.connectURL)".hasPrefix(address.server + "/\(address.application)"))
    }

    @Test func withoutAReferenceTheAddressStays() throws {
        let address = try RTMPAddress(Self.base)
        #expect(try address.following(.same) == address)
    }

    @Test(arguments: [
        ("rtmp://user:word@h/live", "user name"), ("//user:word@h/live", "user name"),
        ("http://h/live", "does not begin with rtmp://"), ("rtmpt://h/live", "does not begin with rtmp://"),
        ("file:///etc/passwd", "does not begin with rtmp://"), ("javascript:alert(1)", "not valid"),
        ("rtmp:/live", "not valid"), ("rtmp://h", "no application"), ("rtmp://h/", "no application"),
        ("/..", "no application"), ("rtmp:///live", "no host"), ("//", "no host"), ("///live", "no host"),
        ("rtmp://h:0/live", "port"), ("rtmp://h:99999/live", "port"), ("rtmp://::1/live", "brackets"),
        ("rtmp://h/live#part", "fragment"), ("rtmp://h/li ve", "printable ASCII"), ("/li\u{301}ve", "printable ASCII"),
        ("/live\n", "printable ASCII"), ("/\(String(repeating: "x", count: 9000))", "too long"),
        ("/\(String(repeating: "x", count: 8180))", "longer than"),
    ])
    func aReferenceOfNoUseSaysWhatIsWrong(_ reference: String, _ words: String) throws {
        let address = try RTMPAddress(Self.base)
        let refusal = #expect(throws: RTMPAddress.Refusal.self) { try address.following(.reference(reference)) }
        #expect(refusal?.description.contains(words) == true, "\(refusal?.description ?? "")")
        #expect(refusal?.description.contains("word") == false, "no part of the URL is shown")
    }

    /// The stream key went to a server through TLS, and does not go to another one without it.
    @Test func nothingLeadsAwayFromTLS() throws {
        let address = try RTMPAddress("rtmps://h/live/key")
        for reference in ["rtmp://h/live", "rtmp://other/live"] {
            let refusal = #expect(throws: RTMPAddress.Refusal.self) { try address.following(.reference(reference)) }
            #expect(refusal?.description.contains("from rtmps to rtmp") == true)
        }
        #expect(try address.following(.reference("//other/live")).connectURL == "rtmps://other/live")
    }

    /// A server may name anything. What is accepted is the address of a server, as if it had been configured.
    @Test func anyReferenceIsSurvived() throws {
        var random = SeededGenerator(announcedFor: "ReconnectRequestTests.anyReferenceIsSurvived")
        let base = try RTMPAddress(Self.base)
        let pieces = [
            "rtmp:", "rtmps:", "//", "/", "?", "#", "..", ".", "a", "h", ":", "1936", "[", "]", "@", "%2F", "::1",
            "\u{301}",
        ]
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...8, using: &random)
            let reference = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            guard let address = try? base.following(.reference(reference)) else { continue }
            #expect(address.stream == base.stream && !address.application.isEmpty && !address.host.isEmpty)
            #expect(!RTMPAddress.hasCredentials(address.connectURL), "\(reference)")
            #expect(try RTMPAddress(connectURL: address.connectURL, stream: address.stream) == address, "\(reference)")
        }
    }
}
