import EncodedMedia
import MediaFormats
import MixModel

/// The client's side of a WHIP session (RFC 9725), from the offer to its end. Pure; times are in ns of a monotonic
/// clock.
///
/// The offer and the answer contain all candidates: trickle ICE is not used.
struct WHIPSession: Sendable {
    struct Limits: Hashable, Sendable {
        /// Time from the answer to a connection. Shorter than the limit of a destination as a whole, which would give
        /// no reason.
        var connect: Int64 = 7_000_000_000
        /// Time without RTCP from the server after which it counts as gone. Servers report every few seconds or more
        /// often.
        var silence: Int64 = 10_000_000_000
        /// Largest number of redirects that are followed.
        var redirects = 5
    }

    enum Action: Hashable, Sendable {
        /// Sends a request: `answered` or `failed` follows.
        case send(WHIPRequest)
        /// Applies the server's answer.
        ///
        /// - Parameter answer: The session description.
        case accept(WHIPAnswer)
        /// Begins to send media.
        case begin
    }

    private enum Step: Hashable, Sendable {
        case offering
        case asking
        case connecting(until: Int64)
        case live(since: Int64)
        case over
    }

    private let address: WHIPAddress
    private let limits: Limits
    private var step = Step.offering
    private var offer = ""
    /// Whether the offer has video.
    private var hasVideo = true
    private var redirects = 0
    /// URL of the last request.
    private var asked: String
    /// URL of the session, which ends it.
    private var session: String?
    /// Whether the response to an offer is outstanding: the server may be creating a session.
    private(set) var isAwaited = false
    /// The reason why the session is over.
    private(set) var fault: OutputFault?

    init(_ address: WHIPAddress, limits: Limits = Limits()) {
        self.address = address
        self.limits = limits
        asked = address.endpoint
    }

    var isOver: Bool { step == .over }
    var isLive: Bool { if case .live = step { true } else { false } }

    /// The request that ends the session at the server; `nil` if there is none to end.
    var farewell: WHIPRequest? { session.map { WHIPRequest(kind: .end, url: $0, token: address.token) } }

    /// Handles this side's offer, with all its candidates.
    mutating func offered(_ offer: String, hasVideo: Bool = true) -> [Action] {
        guard step == .offering else { return [] }
        (self.offer, self.hasVideo) = (offer, hasVideo)
        step = .asking
        isAwaited = true
        return [.send(WHIPRequest(kind: .begin(offer: offer), url: asked, token: address.token))]
    }

    /// Handles the response to the last request.
    mutating func answered(_ response: WHIPResponse, now: Int64) -> [Action] {
        isAwaited = false
        guard step == .asking else {
            // A session that is created too late has to be ended as well.
            if isOver, response.status == 201 { session = sessionURL(in: response) }
            return []
        }
        switch response.status {
        case 201: return created(response, now: now)
        case 307, 308: return redirected(response)
        default: return fail(WHIPRefusal.fault(response))
        }
    }

    private mutating func created(_ response: WHIPResponse, now: Int64) -> [Action] {
        // Without a session URL the server must notice the end by itself.
        session = sessionURL(in: response)
        guard let text = String(bytes: response.body, encoding: .utf8) else {
            return fail(OutputFault(.protocolError, "the server's answer is not text"))
        }
        do throws(WHIPAnswer.Failure) {
            let answer = try WHIPAnswer(text, hasVideo: hasVideo)
            step = .connecting(until: now.saturatingSum(limits.connect))
            return [.accept(answer)]
        } catch {
            return fail(OutputFault(error.isRefusal ? .publishRefused : .protocolError, error.words))
        }
    }

    private func sessionURL(in response: WHIPResponse) -> String? {
        response.location.flatMap { HTTPRedirect.resolve($0, against: asked) }.flatMap { isAsSafe($0) ? $0 : nil }
    }

    /// Follows a redirect with the same request (RFC 9725 §4.6). The token is sent along: a server that is trusted with
    /// it could also pass it on itself.
    private mutating func redirected(_ response: WHIPResponse) -> [Action] {
        redirects += 1
        guard redirects <= limits.redirects else {
            return fail(OutputFault(.protocolError, "the server redirects more than \(limits.redirects) times"))
        }
        guard let next = response.location.flatMap({ HTTPRedirect.resolve($0, against: asked) }) else {
            return fail(OutputFault(.protocolError, "the server redirects to an address that is not one of HTTP"))
        }
        guard isAsSafe(next) else {
            return fail(
                OutputFault(.tlsFailed, "the server redirects to an address without TLS, which is not followed"))
        }
        asked = next
        isAwaited = true
        return [.send(WHIPRequest(kind: .begin(offer: offer), url: next, token: address.token))]
    }

    /// Returns whether a request to a URL is as confidential as one to the current URL.
    private func isAsSafe(_ url: String) -> Bool {
        WHIPAddress.scheme(ofHTTP: asked) != "whips" || WHIPAddress.scheme(ofHTTP: url) == "whips"
    }

    /// Records that media can flow: ICE and DTLS are up.
    mutating func connected(now: Int64) -> [Action] {
        guard case .connecting = step else { return [] }
        step = .live(since: now)
        return [.begin]
    }

    /// Records that the media connection cannot be established or has failed.
    mutating func lost(_ words: String) -> [Action] {
        switch step {
        case .offering, .asking: fail(OutputFault(.protocolError, words))
        case .connecting:
            fail(OutputFault(.timeout, "no connection to the server's WebRTC addresses: \(words)"))
        case .live: fail(OutputFault(.connectionLost, words))
        case .over: []
        }
    }

    /// Records that the last request has failed.
    mutating func unanswered(_ fault: OutputFault) -> [Action] {
        isAwaited = false
        return failed(fault)
    }

    /// Ends the session because the program has ended.
    mutating func leave() { step = .over }

    /// Records a failure of this machine, or of finding the server.
    mutating func failed(_ fault: OutputFault) -> [Action] { isOver ? [] : fail(fault) }

    /// Acts on the passing of time. Call it about every 50 ms.
    ///
    /// - Parameter heard: Arrival of the server's last RTCP packet; `nil` if none has arrived.
    mutating func tick(heard: Int64?, now: Int64) -> [Action] {
        switch step {
        case .offering, .asking, .over: return []
        case .connecting(let until):
            return now < until ? [] : lost("none within \(limits.connect / 1_000_000_000) s: are its UDP ports open?")
        case .live(let since):
            guard now.saturatingDifference(max(since, heard ?? since)) >= limits.silence else { return [] }
            return lost("the server has confirmed nothing for \(limits.silence / 1_000_000_000) s")
        }
    }

    private mutating func fail(_ fault: OutputFault) -> [Action] {
        step = .over
        self.fault = fault
        return []
    }
}
