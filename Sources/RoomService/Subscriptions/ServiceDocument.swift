import EventSubscription
import MixModel

/// A `ServiceState` in the form used by answers, webhooks and feeds. `error` is always present, and null if there is
/// none.
package struct ServiceDocument: Encodable {
    package var state: ServiceState

    package init(_ state: ServiceState) { self.state = state }

    private enum CodingKeys: CodingKey { case running, error }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(state.running, forKey: .running)
        try container.encode(state.error, forKey: .error)
    }
}
