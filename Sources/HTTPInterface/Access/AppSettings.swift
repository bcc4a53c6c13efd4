import MixModel
import RoomService

/// The tenants and their tokens, as configured: `apps.{n}.id` and `apps.{n}.tokens.{m}.…`.
package struct AppSettings: Sendable {
    /// The ids of all configured apps.
    package var ids: Set<AppID> = []
    package var tokens = AccessTokens()
    /// The apps that share this service: the configured ones, and without tokens also the standard one, which every
    /// client may use.
    package var sharers: Set<AppID> { tokens.isEmpty ? ids.union([.standard]) : ids }
    /// The access keys of the ApsaraVideo Live interface.
    package var accessKeys = AccessKeys()
    /// The keys that sign callbacks in the ApsaraVideo Live format, by app. Apps without a key have no entry.
    package var callbackKeys: [AppID: String] = [:]
    package var quotas = AppQuotas()
    /// Problems that do not prevent the service from starting but should be fixed.
    package var warnings: [String] = []

    /// Maximum number of apps. A larger number is treated as a mistake.
    package static let most = 256
    package static let mostTokens = 64
    package static let longestToken = 512
    package static let mostAccessKeys = 64

    package init() {}
}
