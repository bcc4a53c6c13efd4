import Dispatch
import Synchronization
import TextFormats

/// The host of a connection, and the addresses to which it may go. Resolves the host and connects only to allowed
/// addresses.
///
/// Create one for each attempt, so that each attempt resolves the name again.
package struct Destination: Sendable {
    /// The allowed addresses, and the name of the setting that allows them, such as `sources.allow`.
    package struct Limits: Hashable, Sendable {
        package var reach: Reach
        package var setting: String

        package init(reach: Reach, setting: String) {
            self.reach = reach
            self.setting = setting
        }
    }

    /// The reason why there is no address to connect to; contains no part of the URL except its host.
    package struct Unreachable: Error, Hashable, CustomStringConvertible {
        /// The fault, `.notAllowed` or `.unresolvable`.
        package let fault: ConnectionFault

        package var description: String { fault.words }

        package init(_ kind: ConnectionFault.Kind, _ words: String) { fault = ConnectionFault(kind, words) }
    }

    /// Returns all addresses of a host; blocks.
    package typealias Resolve =
        @Sendable (_ host: String, _ port: UInt16, _ isNumeric: Bool) throws(SocketAddress.Unresolved)
        -> [SocketAddress]

    package let target: Reach.Target
    /// Limits of the addresses; `nil` allows all.
    package let limits: Limits?
    private let resolve: Resolve

    package init(
        scheme: String, host: String, port: UInt16, limits: Limits?,
        resolve: @escaping Resolve = { host, port, isNumeric throws(SocketAddress.Unresolved) in
            try SocketAddress.resolve(host: host, port: port, isNumeric: isNumeric)
        }
    ) {
        target = Reach.Target(scheme: scheme, host: host, port: Int(port))
        self.limits = limits
        self.resolve = resolve
    }

    /// Returns the addresses of a host that is itself an address; `nil` if it is a name. Does not block.
    func numericAddresses() throws(Unreachable) -> [SocketAddress]? {
        guard let addresses = try? resolve(target.host, UInt16(target.port), true) else { return nil }
        return try allowed(addresses)
    }

    /// Returns the host's allowed addresses. Blocks while it asks the network.
    func addresses() throws(Unreachable) -> [SocketAddress] {
        let found: [SocketAddress]
        do {
            found = try resolve(target.host, UInt16(target.port), false)
        } catch {
            throw Unreachable(.unresolvable, "cannot resolve \(target.host): \(error.reason)")
        }
        return try allowed(found)
    }

    private func allowed(_ addresses: [SocketAddress]) throws(Unreachable) -> [SocketAddress] {
        guard let limits else { return addresses }
        var refused: InternetAddress?
        let good = addresses.filter { address in
            guard let internet = address.internet else { return false }
            let isGood = limits.reach.allows(internet, of: target)
            if !isGood { refused = internet }
            return isGood
        }
        if good.isEmpty, let refused {
            throw Unreachable(.notAllowed, Reach.refusal(target, at: refused, setting: limits.setting))
        }
        return good
    }

    /// Throws unless connections to the host are allowed now; for elements that resolve it themselves.
    ///
    /// - Parameter limit: Longest wait. A name server that does not answer blocks a thread, but not the caller.
    /// - Returns: The first allowed address.
    package func check(within limit: Duration) async throws(Unreachable) -> InternetAddress? {
        let once = Once<Result<[SocketAddress], Unreachable>>()
        let result = await withCheckedContinuation { continuation in
            once.begin(continuation)
            DispatchQueue.global().async {
                once.end(Result { () throws(Unreachable) in try addresses() })
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(limit / .milliseconds(1)))) {
                once.end(.failure(Unreachable(.unresolvable, "cannot resolve \(target.host): timed out")))
            }
        }
        return try result.get().first?.internet
    }

    /// Resumes a continuation with the first answer.
    private final class Once<Answer: Sendable>: Sendable {
        private let continuation = Mutex<CheckedContinuation<Answer, Never>?>(nil)

        func begin(_ continuation: CheckedContinuation<Answer, Never>) {
            self.continuation.withLock { $0 = continuation }
        }

        func end(_ answer: Answer) { continuation.withLock { $0.take() }?.resume(returning: answer) }
    }
}

extension Destination {
    /// Creates a destination from a URL of any scheme, for elements that accept whole URLs; `nil` if it has no host.
    ///
    /// - Parameter defaultPort: Port of a URL without a port; `nil` means that of HTTP or RTMP, with or without TLS.
    package init?(url: String, limits: Limits?, defaultPort: UInt16? = nil) {
        guard let separator = url.firstRange(of: "://") else { return nil }
        let scheme = url[..<separator.lowerBound].lowercased()
        let authority = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let standard: UInt16 =
            switch scheme {
            case "http": 80
            case "https": 443
            case "rtmps": RTMPAddress.defaultSecurePort
            default: RTMPAddress.defaultPort
            }
        guard let (host, port) = try? RTMPAddress.split(authority: place, defaultPort: defaultPort ?? standard) else {
            return nil
        }
        self.init(scheme: scheme, host: host, port: port, limits: limits)
    }
}
