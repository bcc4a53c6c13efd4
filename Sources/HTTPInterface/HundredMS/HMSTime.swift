import EventSubscription
import Foundation

/// Times in answers and webhooks: ISO 8601 in UTC with milliseconds.
enum HMSTime {
    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// - Parameter seconds: Time in seconds since 1970.
    static func value(_ seconds: Double?) -> JSONValue {
        seconds.map { .string(Date(timeIntervalSince1970: $0).formatted(format)) } ?? .null
    }
}
