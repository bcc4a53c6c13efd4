import EventSubscription
import Foundation
import Logging
import MixModel
import RoomService
import ServiceLifecycle
import TextFormats

/// Calls the app's server as Web Call Server does: `POST {url}/{method}` with JSON.
package final class WCSHooks: Service {
    /// The settings under `wcs.hooks`.
    package struct Settings: Hashable, Sendable {
        /// The URL of each call.
        let urls: [String: StreamURL]
        let timeout: Duration
        let secret: String?
        /// Whether the server's answer to `connect` admits clients without a token.
        package var replacesTokens = false

        /// Range of a timeout in seconds.
        package static let timeouts = 0.1...15.0
        package static let standardTimeout = 5.0

        /// - Parameters:
        ///   - url: Returns the checked URL of a text.
        ///   - base: The URL of the app's server, to which `/connect` and the others are appended.
        ///   - timeout: Time limit in seconds for an answer.
        ///   - secret: A secret that `WebhookSignature.key(of:)` can read; `nil` leaves calls unsigned.
        package init(
            base: String, timeout: Double = Self.standardTimeout, secret: String? = nil,
            url: (String) throws(InputError) -> StreamURL
        ) throws(InputError) {
            let slash = base.hasSuffix("/") ? "" : "/"
            var urls: [String: StreamURL] = [:]
            for method in WCSHookMethod.allCases { urls[method.rawValue] = try url(base + slash + method.rawValue) }
            self.urls = urls
            self.timeout = .milliseconds(Int(timeout * 1000))
            self.secret = secret
        }
    }

    let settings: Settings
    private let post: SignedPost
    private let metrics: Metrics
    private let logger: Logger
    /// Name of this service for the app's server.
    let node: String

    /// Largest number of simultaneous calls; further ones wait, within their timeout.
    private static let mostCalls = 64

    /// - Parameters:
    ///   - allowed: `callbacks.allow`.
    ///   - host: The address at which the service listens.
    package init(_ settings: Settings, allowed: AllowList, host: String, metrics: Metrics, logger: Logger) {
        self.settings = settings
        post = SignedPost(allowed: allowed, secret: settings.secret, connections: Self.mostCalls)
        node = "\(UUID.quick().uuidString.lowercased())@\(host)"
        self.metrics = metrics
        self.logger = logger
    }

    package func run() async throws {
        // The WebSockets to which the hooks belong end before this.
        try? await gracefulShutdown()
        await post.close()
    }

    /// - Parameter limit: Time limit for an answer, at most that of the settings.
    func call(_ method: WCSHookMethod, _ fields: [String: JSONValue], within limit: Duration) async -> WebhookAnswer {
        guard let url = settings.urls[method.rawValue] else { return WebhookAnswer(result: .abandoned) }
        let body = Array(JSONText.of(.object(fields)).utf8)
        let answer = await post.send(
            body, id: "wcs_\(UUID.quick().uuidString.lowercased())", to: url, within: min(limit, settings.timeout))
        metrics.count(.wcsHooks, method.rawValue, answer.result.rawValue)
        if answer.result != .delivered, answer.code != 403 {
            logger.warning("WCS: the hook \(method.rawValue) \(answer.error ?? "was not called")")
        }
        return answer
    }

    /// Counts a call that is not made because too many wait.
    func drop(_ method: WCSHookMethod) { metrics.count(.wcsHooks, method.rawValue, "dropped") }
}
