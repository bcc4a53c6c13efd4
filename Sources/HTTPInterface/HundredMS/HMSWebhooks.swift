import EventSubscription
import Foundation
import MixModel
import RoomService
import TextFormats

/// Posts the webhooks of 100ms' interface to the app's server.
package struct HMSWebhooks: Sendable {
    /// The settings under `hundredms.webhook`.
    package struct Settings: Sendable {
        let url: StreamURL
        /// Name of the header by which the app's server recognises this service, and its secret.
        let header: (name: String, value: String)?

        /// Longest name of the header, in bytes.
        package static let longestName = 64

        package init(url: StreamURL, header: (name: String, value: String)?) {
            self.url = url
            self.header = header
        }
    }

    private let settings: Settings
    private let post: SignedPost

    /// Time limit for one attempt.
    private static let limit = Duration.seconds(10)
    /// Largest number of simultaneous connections; further webhooks wait.
    static let mostConnections = 16

    /// - Parameter allowed: `callbacks.allow`.
    package init(_ settings: Settings, allowed: AllowList) {
        self.settings = settings
        // 100ms does not sign: its customers choose a header.
        post = SignedPost(allowed: allowed, secret: nil, connections: Self.mostConnections)
    }

    /// - Returns: `nil` on success, which is the status 200; otherwise a description of the error.
    func send(_ body: JSONValue, id: String) async -> String? {
        let answer = await post.send(
            Array(JSONText.of(body).utf8), id: id, to: settings.url, within: Self.limit,
            headers: [settings.header].compactMap(\.self), needs200: true)
        return answer.result == .delivered ? nil : answer.error ?? "was not called"
    }

    func close() async { await post.close() }
}
